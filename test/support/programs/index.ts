// The programs under test, by name; each is loaded when it is first asked for, since the packages of providers load slowly.
import type { ProgramOf } from './surroundings.ts'

const PROGRAMS: Record<string, () => Promise<ProgramOf>> = {
  'agent-tasks': () => import('./agent-tasks.ts').then(({ agentTasks }) => agentTasks),
  'ai-sdk': () => import('./ai-sdk.ts').then(({ aiSdk }) => aiSdk),
  anthropic: () => import('./anthropic.ts').then(({ anthropic }) => anthropic),
  app: () => import('./app.ts').then(({ app }) => app),
  deadlines: () => import('./deadlines.ts').then(({ deadlines }) => deadlines),
  openai: () => import('./openai.ts').then(({ openai }) => openai),
  plain: () => import('./plain.ts').then(({ plain }) => plain),
  shipped: () => import('./shipped.ts').then(({ shipped }) => shipped),
}

/** The program of a name; throws for one that there is not. */
export async function programNamed(name: string): Promise<ProgramOf> {
  const load = PROGRAMS[name]
  if (!load) throw new Error(`no program ${name}`)
  return load()
}

/** Loads programs, so that this is not part of the time of the first one that runs. */
export const loadPrograms = async (...names: string[]): Promise<void> =>
  void (await Promise.all(names.map(programNamed)))
