// The documentation site. `npm run docs` builds it, and the executable serves it at /docs. It loads nothing from other addresses.
import { relative } from 'node:path'
import { defineConfig } from 'vitepress'

/** Lists the folders of the packages whose code is in the site, from the checkout's root, for their licenses. */
const packages = {
  name: 'packages',
  generateBundle(this: { emitFile(file: object): void }, _: unknown, files: Record<string, { modules?: object }>) {
    const modules = Object.values(files).flatMap((file) => Object.keys(file.modules ?? {}))
    const folders = modules.flatMap((path) => /^[^?]*node_modules\/(?:@[^/]+\/)?[^/?]+/.exec(path)?.[0] ?? [])
    const names = folders.map((folder) => relative(process.cwd(), folder).replaceAll('\\', '/'))
    this.emitFile({ type: 'asset', fileName: 'packages.json', source: JSON.stringify([...new Set(names)].sort()) })
  },
}

/** A page in the sidebar by its file, without `.md`. */
const page = (text: string, file: string) => ({ text, link: `/${file}` })

const guides = [
  page('Quick start', 'quick-start'),
  page('Install', 'install'),
  page('OpenAI and Anthropic', 'openai-and-anthropic'),
  page('Fixtures', 'fixtures'),
  page('Scenarios and faults', 'scenarios'),
  page('Scenario recipes', 'scenario-recipes'),
  page('Incidents', 'incidents'),
  page('Broken conversations', 'conversations'),
  page('Drift', 'drift'),
  page('In your tests', 'testing'),
  page('In CI', 'ci'),
  page('Explore failures', 'explore'),
  page('The inspector', 'inspector'),
  page('The gateway', 'gateway'),
  page('Real providers', 'real-providers'),
  page('Record and replay', 'cassettes'),
  page('Agents', 'agents'),
  page('The workspace', 'workspace'),
  page('Telemetry', 'telemetry'),
  page('Command line', 'command-line'),
  page('In a container', 'container'),
  page('Many processes', 'scale'),
  page('Troubleshooting', 'troubleshooting'),
]

const reference = [
  page('Fault types', 'reference/faults'),
  page('Scenario files', 'reference/scenario-files'),
  page('Fixture files', 'reference/fixture-files'),
  page('Cassette files', 'cassette-files'),
  page('Redaction', 'redaction'),
  page('Findings', 'reference/findings'),
  page('Conversation rules', 'reference/conversation-rules'),
  page('Settings', 'reference/settings'),
  page('Commands and flags', 'reference/commands'),
  page('Headers', 'reference/headers'),
  page('Control API', 'reference/control-api'),
  page('Metrics', 'reference/metrics'),
  page('JSON reports', 'reference/json-reports'),
  page('Models', 'reference/models'),
  page('Operations', 'operations'),
  page('Shipped scenarios in use', 'scenario-table'),
  page('Compatibility', 'compatibility'),
  page('Tests on macOS and Windows', 'platforms'),
  page('Limits on input', 'limits'),
  page('What is not emulated', 'not-emulated'),
  page('Glossary', 'glossary'),
]

const explanations = [
  page('Sessions and time', 'sessions'),
  page('Verdicts and findings', 'verdicts'),
  page('Comparison with other tools', 'comparison'),
]

// biome-ignore lint/style/noDefaultExport: VitePress reads its configuration from the default export.
export default defineConfig({
  title: 'Understudy',
  description: 'A local emulator of a model gateway, with provider failures and verdicts.',
  lang: 'en-US',
  base: '/docs/',
  cleanUrls: true,
  outDir: '../dist/docs',
  cacheDir: '../dist/docs-cache',
  // One script for all pages instead of one inside each, so that the policy of the pages stays short.
  metaChunk: true,
  // One page after the other: the order of the search index decides its bytes, and those of everything that names it.
  buildConcurrency: 1,
  head: [['link', { rel: 'icon', href: '/favicon.ico' }]],
  vite: { plugins: [packages] },
  markdown: {
    // Comments in code have enough contrast, too.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // Without its limit of time per line: on a busy machine, code would get other colors, and the site other bytes.
    shikiSetup(highlighter) {
      const { codeToHtml } = highlighter
      highlighter.codeToHtml = (code, options) => codeToHtml(code, { ...options, tokenizeTimeLimit: 0 })
    },
    // Text between angle brackets, as in `session:<name>`, is text.
    html: false,
    linkify: false,
    config(md) {
      const render = md.renderer.rules.code_inline
      if (!render) return
      // Templates such as `{{captures.order}}` are shown, not filled in.
      md.renderer.rules.code_inline = (...args) => render(...args).replace('<code', '<code v-pre')
    },
  },
  themeConfig: {
    outline: { level: [2, 3] },
    nav: [
      { text: 'Guides', link: '/quick-start' },
      { text: 'Reference', link: '/reference/faults' },
      { text: 'Explanations', link: '/sessions' },
    ],
    sidebar: [
      { text: 'Guides', items: guides },
      { text: 'Reference', items: reference },
      { text: 'Explanations', items: explanations },
    ],
    search: {
      provider: 'local',
      options: { detailedView: false },
    },
  },
})
