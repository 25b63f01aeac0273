// npm run bench scale [ROUNDS] [SECONDS] [EXECUTABLE]: calls per second of one, two and three processes behind HAProxy beside one without
// it, and what the balancer costs of processor time. Needs wrk and haproxy. All share the cores of this machine.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { machineKind } from './machine.ts'
import { BenchError } from './options.ts'
import { bodyOf, ROUTER } from './servers.ts'
import { freePort, median, root, type Server, scratch, start, understudy } from './support.ts'
import { load, needWrk } from './wrk.ts'

const [rounds = '3', seconds = '2', executable = understudy] = process.argv.slice(2)
const NAMES = ['a', 'b', 'c'] as const
const CONNECTIONS = 32
const SESSIONS = 30

/** One way to serve the calls. */
interface Setup {
  name: string
  url: string
  instances: readonly Server[]
  balancer?: Server
}
/** One run: calls per second, and microseconds of processor time a call. */
interface Figures {
  rate: number
  instances: number
  balancer: number
}

async function startInstance(name: string): Promise<Server> {
  const args = ['serve', '--json', '--port', '0', '--db', ':memory:', '--instance', name]
  return start({ args: [executable, ...args] })
}

/** deploy/haproxy.cfg with its first servers alone. */
async function startBalancer(program: string, instances: readonly Server[]): Promise<Server> {
  const { folder } = scratch()
  const file = join(folder, 'haproxy.cfg')
  const missing = NAMES.slice(instances.length)
  const lines = readFileSync(join(root, 'deploy', 'haproxy.cfg'), 'utf8').split('\n')
  writeFileSync(file, lines.filter((line) => !missing.some((name) => line.includes(`server ${name} `))).join('\n'))
  const port = freePort()
  const places = instances.map(({ url }, index) => `${NAMES[index]?.toUpperCase()}=${new URL(url).host}`)
  const args = ['env', ...places, `BIND=127.0.0.1:${port}`, program, '-db', '-f', file]
  return start({ args, port })
}

async function measure({ url, instances, balancer }: Setup): Promise<Figures> {
  const used = () => [instances.reduce((sum, one) => sum + (one.cpu() ?? Number.NaN), 0), balancer?.cpu() ?? 0] as const
  const [servers, between] = used()
  const target = {
    url: `${url}${ROUTER}`,
    body: bodyOf({ form: 'whole' }),
    connections: CONNECTIONS,
    sessions: SESSIONS,
  }
  const { calls, took } = await load({ ...target, seconds: Number(seconds) })
  const [serversThen, betweenThen] = used()
  return {
    rate: (calls / took) * 1e6,
    instances: (serversThen - servers) / calls,
    balancer: (betweenThen - between) / calls,
  }
}

needWrk()
const program = Bun.which('haproxy') ?? (existsSync('/usr/sbin/haproxy') ? '/usr/sbin/haproxy' : undefined)
if (!program) throw new BenchError('haproxy is missing; install it (Debian, Ubuntu: apt install haproxy)')
const instances = await Promise.all(NAMES.map(startInstance))
const [first] = instances
if (!first) throw new BenchError('no instance was started')
const setups: Setup[] = [{ name: '1, called directly', url: first.url, instances: [first] }]
for (const count of [1, 2, 3]) {
  const some = instances.slice(0, count)
  const balancer = await startBalancer(program, some)
  setups.push({ name: `${count} behind HAProxy`, url: balancer.url, instances: some, balancer })
}
// The first run makes the sessions, and compiles what is called often.
for (const setup of setups) await measure(setup)
const results = setups.map((): Figures[] => [])
for (let round = 0; round < Number(rounds); round++) {
  for (const [index, setup] of setups.entries()) results[index]?.push(await measure(setup))
}
console.log(
  `${machineKind()}; medians of ${rounds} rounds of ${seconds} s, ${CONNECTIONS} connections, ${SESSIONS} sessions`,
)
console.table(
  setups.map(({ name }, index) => {
    const runs = results[index] ?? []
    const middle = (key: keyof Figures) => median(runs.map((run) => run[key]))
    return {
      processes: name,
      'calls/s': Math.round(middle('rate')),
      'CPU us/call, Understudy': Math.round(middle('instances')),
      'CPU us/call, HAProxy': Math.round(middle('balancer')),
    }
  }),
)
process.exit(0)
