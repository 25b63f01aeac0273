// Builds the inspector's page: one HTML file that contains its script, style and parts, and loads nothing from
// elsewhere.
import { join } from 'node:path'
import { ICON_PATHS } from './page/ui/icons.tsx'
import { DATA_MARK } from './report-data.ts'

const folder = join(import.meta.dir, 'page')
/** Scripts that are evaluated on first use, so that they do not slow the start. */
const PARTS = ['editor', 'chart'] as const

/** The page, with a policy that allows only its own content; `plugins` see its modules. */
export async function bundlePage(plugins: Bun.BunPlugin[] = []): Promise<string> {
  const built = (file: string, kind: 'js' | 'css') => buildFile(file, kind, plugins)
  const [first, main, style, ...parts] = await Promise.all([
    built('first.ts', 'js'),
    built('main.tsx', 'js'),
    built('style.css', 'css'),
    ...PARTS.map((name) => built(`parts/${name}.ts`, 'js')),
  ])
  const scripts = [first, main, ...parts].map(inScript)
  const policy = [
    "default-src 'none'",
    `script-src ${scripts.map(hashOf).join(' ')}`,
    `style-src ${hashOf(style)}`,
    "connect-src 'self'",
    "img-src data: 'self'",
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ')
  const inert = PARTS.map((name, index) => `<script type="text/plain" id="part-${name}">${scripts[index + 2]}</script>`)
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<title>Understudy</title>',
    `<link rel="icon" href="${ICON}">`,
    `<style>${style}</style>`,
    '</head>',
    '<body>',
    `<div id="app">${FRAME}</div>`,
    '<noscript>The inspector requires JavaScript. The same data is available under /_understudy; see /swagger.</noscript>',
    DATA_MARK,
    `<script>${scripts[0]}</script>`,
    `<script>${scripts[1]}</script>`,
    // After the rendering script: nothing above the fold waits for them.
    ...inert,
    '</body>',
    '</html>',
    '',
  ].join('\n')
}

const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3.5" fill="#4f46e5"/><path d="M3.5 4.5h6M5.5 8h7M3.5 11.5h4" stroke="#fff" stroke-width="1.8" stroke-linecap="round"/></svg>',
)}`

/** Shown until the page's script has rendered: its frame, identical to the first render. */
const FRAME = [
  '<div class="shell"><header class="side"><a class="brand" href="#/calls">',
  `<svg class="icon" viewBox="0 0 16 16"><path d="${ICON_PATHS.calls}"/></svg><span>Understudy</span>`,
  '</a></header></div>',
].join('')

async function buildFile(file: string, kind: 'js' | 'css', plugins: Bun.BunPlugin[]): Promise<string> {
  const result = await Bun.build({
    plugins,
    entrypoints: [join(folder, file)],
    target: 'browser',
    ...(kind === 'js' && { format: 'iife' as const }),
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    jsx: { runtime: 'automatic', importSource: 'preact', development: false },
  })
  const [output] = result.outputs
  if (!result.success || !output) throw new AggregateError(result.logs, `the page's ${file} could not be built`)
  return (await output.text()).replaceAll('\r\n', '\n').trim()
}

/** A script escaped for a script element. */
const inScript = (code: string) => code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')

const hashOf = (text: string) => `'sha256-${new Bun.CryptoHasher('sha256').update(text).digest('base64')}'`
