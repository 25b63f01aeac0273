// The pages of the reference, which are made from the registries and schemas of the program.
import { conversationRulesPage } from './reference/conversation-page.ts'
import { fixtureFilesPage } from './reference/fixture-page.ts'
import { modelsPage } from './reference/models-page.ts'
import { commandsPage, settingsPage } from './reference/program-pages.ts'
import { faultsPage, findingsPage, scenarioFilesPage } from './reference/scenario-pages.ts'
import { controlPage, headersPage, metricsPage, reportsPage, serverFacts } from './reference/server-pages.ts'

/** Every page by its path from the project's root. */
export async function referencePages(): Promise<Record<string, string>> {
  const facts = await serverFacts()
  const pages = {
    faults: faultsPage(),
    'scenario-files': scenarioFilesPage(),
    'fixture-files': fixtureFilesPage(),
    findings: findingsPage(),
    'conversation-rules': conversationRulesPage(),
    settings: settingsPage(),
    commands: commandsPage(),
    headers: headersPage(),
    'control-api': controlPage(facts),
    metrics: metricsPage(facts),
    'json-reports': reportsPage(),
    models: modelsPage(),
  }
  return Object.fromEntries(Object.entries(pages).map(([name, text]) => [`docs/reference/${name}.md`, text]))
}
