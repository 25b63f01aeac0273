// The container and the files of deploy/: what they name exists, and they agree with each other and with the settings.
import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RUN } from '../../release/image.ts'
import { ARCHITECTURES, LIBRARY_NAMES } from '../../release/libraries.ts'
import { platforms } from '../../src/build/platforms.ts'
import { readConfig } from '../../src/config.ts'
import { VERSION } from '../../src/version.ts'

const ROOT = join(import.meta.dir, '..', '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const HAPROXY = Bun.which('haproxy') ?? (existsSync('/usr/sbin/haproxy') ? '/usr/sbin/haproxy' : null)
const PORT = 8633

/** What a variable is set to in Kubernetes, or where from. */
interface Variable {
  name: string
  value?: string
  valueFrom?: object
}
interface Container {
  image: string
  ports: { name: string; containerPort: number }[]
  env: Variable[]
  volumeMounts: { name: string; mountPath: string }[]
  readinessProbe: { httpGet: { path: string; port: string } }
  resources: { limits: object }
  securityContext: { readOnlyRootFilesystem: boolean }
}
interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string }
  data?: Record<string, string>
  spec: {
    replicas: number
    serviceName?: string
    clusterIP?: string
    selector: { matchLabels?: object }
    ports: { port: number; targetPort: string }[]
    template: {
      metadata: { labels: object }
      spec: { enableServiceLinks: boolean; securityContext: { runAsUser: number }; containers: [Container] }
    }
    volumeClaimTemplates: { metadata: { name: string } }[]
  }
}
interface Service {
  build?: string
  image: string
  environment: Record<string, string>
  volumes: string[]
  ports?: string[]
  read_only: boolean
  depends_on?: Record<string, object>
}
interface Compose {
  services: Record<string, Service>
  volumes: Record<string, null>
}

/** Throws for a variable that is no setting, or a value that it cannot have. */
const configOf = (variables: Record<string, string>) =>
  readConfig({}, Object.fromEntries(Object.entries(variables).filter(([name]) => name.startsWith('UNDERSTUDY_'))))
/** As a shell would fill it in; what stands behind `:?` or `:-` is of no interest here. */
const filled = (text: string) => text.replace(/\$\{\w+:\?[^}]*\}/g, 'secret').replace(/\$\{\w+:-([^}]*)\}/g, '$1')
const compose = (path: string) => Bun.YAML.parse(filled(read(path))) as Compose

/** The instructions of the Dockerfile, each on one line. */
const instructions = read('Dockerfile')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
const all = (name: string) =>
  instructions.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []))
const environment = Object.fromEntries(
  all('ENV').flatMap((line) => [...line.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])),
)

describe('Dockerfile', () => {
  test('copies existing files from existing stages', () => {
    const stages = all('FROM').flatMap((line) => / AS (\w+)$/.exec(line)?.[1] ?? [])
    for (const line of all('COPY')) {
      const [, stage] = /--from=(\w+)/.exec(line) ?? []
      if (stage) expect(stages).toContain(stage)
      else
        for (const path of line.split(' ').slice(0, -1))
          expect([path, existsSync(join(ROOT, path))]).toEqual([path, true])
    }
  })

  test('builds existing platforms with an existing script', () => {
    for (const cpu of ['x64', 'arm64']) expect(platforms as readonly string[]).toContain(`linux-${cpu}`)
    const { scripts } = JSON.parse(read('package.json')) as { scripts: object }
    expect(scripts).toHaveProperty('build')
    expect(all('RUN').some((line) => line.includes('npm run build -- --platform "linux-$cpu"'))).toBe(true)
  })

  test('sees only what the build reads', () => {
    const lines = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    const [first, ...kept] = lines
    expect(first).toBe('*')
    for (const line of kept) expect([line, existsSync(join(ROOT, line.slice(1)))]).toEqual([line, true])
    const copied = all('COPY').filter((line) => !line.includes('--from'))
    const named = copied.flatMap((line) => line.split(' ').slice(0, -1)).filter((path) => path !== '.')
    expect(kept).toEqual(expect.arrayContaining(named.map((path) => `!${path}`)))
  })

  test('has valid settings, no root, one volume that also holds the driver, and a health check', () => {
    const { db, host } = configOf({ ...environment, UNDERSTUDY_TOKEN: 'secret' })
    const [volume] = all('VOLUME')
    expect([host, db]).toEqual(['0.0.0.0', `${volume}/understudy.db`])
    expect([environment.TMPDIR, all('WORKDIR').at(-1)]).toEqual([volume, volume])
    expect(all('USER')).toEqual(['65532:65532'])
    expect(all('EXPOSE')).toEqual([String(PORT)])
    expect(all('HEALTHCHECK').join()).toEndWith('CMD ["/understudy", "health"]')
    expect(all('ARG')).toContain(`VERSION=${VERSION}`)
    const labels = ['title', 'description', 'licenses', 'version', 'revision']
    for (const label of labels) expect(all('LABEL').join()).toContain(`org.opencontainers.image.${label}=`)
  })
})

describe('Dockerfile and published image', () => {
  test('agree on how the program runs', () => {
    const seconds = (option: string) => Number(new RegExp(`--${option}=(\\d+)s`).exec(all('HEALTHCHECK').join())?.[1])
    const exec = (name: string) => JSON.parse(all(name).at(-1) ?? '')
    expect({
      User: all('USER').join(),
      ExposedPorts: { [`${all('EXPOSE').join()}/tcp`]: {} },
      Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      Entrypoint: exec('ENTRYPOINT'),
      Cmd: exec('CMD'),
      Volumes: { [all('VOLUME').join()]: {} },
      WorkingDir: all('WORKDIR').at(-1),
      StopSignal: all('STOPSIGNAL').join(),
      Healthcheck: {
        Test: ['CMD', '/understudy', 'health'],
        Interval: seconds('interval') * 1e9,
        Timeout: seconds('timeout') * 1e9,
        StartPeriod: seconds('start-period') * 1e9,
      },
    } as object).toEqual(structuredClone(RUN))
  })

  test('have the same libraries', () => {
    const copied = all('COPY').filter((line) => line.includes('--from=libraries'))
    for (const name of LIBRARY_NAMES) expect(copied.join()).toContain(`/usr/lib/*-linux-gnu/${name} `)
    for (const { loader } of Object.values(ARCHITECTURES))
      expect(copied.some((line) => line.endsWith(` /${loader.split('/')[0]}/`))).toBe(true)
  })
})

describe('compose file', () => {
  test.each(['compose.yaml', 'deploy/compose.yaml'])('%s names existing settings, files and volumes', (path) => {
    const { services, volumes } = compose(path)
    for (const service of Object.values(services)) {
      expect(service.read_only).toBe(true)
      if (service.image === 'understudy') {
        expect(configOf(service.environment).token).toEqual(['secret'])
        expect(existsSync(join(ROOT, path, '..', service.build ?? '', 'Dockerfile'))).toBe(true)
      }
      for (const volume of service.volumes) {
        const [source = ''] = volume.split(':')
        if (source.startsWith('.')) expect([source, existsSync(join(ROOT, path, '..', source))]).toEqual([source, true])
        else expect(volumes).toHaveProperty(source)
      }
      for (const port of service.ports ?? []) expect(port).toBe(`127.0.0.1:${PORT}:${PORT}`)
    }
  })

  test('gives the balancer each instance by name and waits for it', () => {
    const { haproxy, ...instances } = compose('deploy/compose.yaml').services
    const names = Object.keys(instances)
    expect(Object.values(instances).map((service) => service.environment.UNDERSTUDY_INSTANCE)).toEqual(names)
    expect(Object.keys(haproxy?.depends_on ?? {})).toEqual(names)
    const { A, B, C } = haproxy?.environment ?? {}
    expect([A, B, C]).toEqual(names.map((name) => `${name}:${PORT}`))
  })
})

describe('Kubernetes manifests', () => {
  const folder = 'deploy/kubernetes'
  const kustomization = Bun.YAML.parse(read(`${folder}/kustomization.yaml`)) as { resources: string[] }
  const manifests = kustomization.resources.flatMap((name) => Bun.YAML.parse(read(`${folder}/${name}`)) as Manifest[])
  const find = (kind: string, name: string) => {
    const found = manifests.find((one) => one.kind === kind && one.metadata.name === name)
    if (!found) throw new Error(`there is no ${kind} ${name}`)
    return found
  }
  const set = find('StatefulSet', 'understudy')
  const balancer = find('Deployment', 'understudy-haproxy')
  const containerOf = ({ spec }: Manifest) => spec.template.spec.containers[0]

  test('are all listed', () => {
    expect([...kustomization.resources, 'kustomization.yaml'].sort()).toEqual(readdirSync(join(ROOT, folder)).sort())
  })

  test('agree on services, ports, labels, users and volumes', () => {
    for (const one of [set, balancer]) {
      const { template, selector } = one.spec
      const container = containerOf(one)
      expect(selector.matchLabels).toEqual(template.metadata.labels)
      expect(
        manifests.filter(({ kind, spec }) => kind === 'Service' && Bun.deepEquals(spec.selector, selector.matchLabels)),
      ).toHaveLength(1)
      expect(container.ports).toEqual([{ name: 'http', containerPort: PORT }])
      expect(container.readinessProbe.httpGet).toEqual({ path: '/_understudy/readyz', port: 'http' })
      expect(container.securityContext.readOnlyRootFilesystem).toBe(true)
      expect(container.resources.limits).toEqual({ cpu: expect.any(String), memory: expect.any(String) })
      // Variables of services would be taken for settings.
      expect(template.spec.enableServiceLinks).toBe(false)
    }
    expect(find('Service', set.spec.serviceName ?? '').spec.clusterIP).toBe('None')
    expect(`${set.spec.template.spec.securityContext.runAsUser}:65532`).toBe(all('USER').join())
    expect(containerOf(set).volumeMounts).toEqual([{ name: 'data', mountPath: all('VOLUME').join() }])
    expect(set.spec.volumeClaimTemplates.map(({ metadata }) => metadata.name)).toEqual(['data'])
  })

  test('have valid settings', () => {
    const given = containerOf(set).env.map(({ name, value }) => [name, value ?? 'from-elsewhere'])
    expect(configOf(Object.fromEntries(given)).instance).toBe('from-elsewhere')
  })

  test('give the balancer each instance of the set and the shared file', () => {
    const { env } = containerOf(balancer)
    const given = ['A', 'B', 'C'].map((name) => env.find((one) => one.name === name)?.value)
    const expected = Array.from(
      { length: set.spec.replicas },
      (_, index) => `understudy-${index}.${set.spec.serviceName}.$(NAMESPACE).svc.cluster.local:${PORT}`,
    )
    expect(given).toEqual(expected)
    expect(find('ConfigMap', 'understudy-haproxy').data).toEqual({ 'haproxy.cfg': read('deploy/haproxy.cfg') })
  })
})

describe.skipIf(!HAPROXY)('haproxy.cfg', () => {
  const places = { BIND: ':8633', A: '127.0.0.1:8634', B: '127.0.0.1:8635', C: '127.0.0.1:8636' }
  test.each([
    ['with addresses', places],
    ['with names that do not resolve yet', { ...places, A: 'a.invalid:8633', BY_NAME: '1' }],
  ])('is valid %s', (_, env) => {
    const { exitCode, stderr } = Bun.spawnSync([HAPROXY ?? '', '-c', '-f', 'deploy/haproxy.cfg'], { cwd: ROOT, env })
    expect([stderr.toString(), exitCode]).toEqual([expect.any(String), 0])
  })
})
