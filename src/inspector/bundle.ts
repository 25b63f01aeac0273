// Makes the inspector's page: one HTML file with its script, its style and its parts inside, which asks no other address.
import { join } from 'node:path'
import { DATA_MARK } from './data-mark.ts'
import { ICON_PATHS } from './page/ui/icons.tsx'

const folder = join(import.meta.dir, 'page')
/** Scripts that are evaluated when they are first needed: what few people open costs nobody a start. */
const PARTS = ['editor', 'chart'] as const

/** The page, with a policy that lets nothing run or load but what is inside. */
export async function bundlePage(): Promise<string> {
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
    // Behind what draws: nothing that is seen first waits for them.
    ...inert,
    '</body>',
    '</html>',
    '',
  ].join('\n')
}

const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3.5" fill="#4f46e5"/><path d="M3.5 4.5h6M5.5 8h7M3.5 11.5h4" stroke="#fff" stroke-width="1.8" stroke-linecap="round"/></svg>',
)}`

/** What is seen until the page's script has drawn: its frame, the same as that begins with. */
const FRAME = [
  '<div class="shell"><header class="side"><a class="brand" href="#/calls">',
  `<svg class="icon" viewBox="0 0 16 16"><path d="${ICON_PATHS.calls}"/></svg><span>Understudy</span>`,
  '</a></header></div>',
].join('')

async function built(file: string, kind: 'js' | 'css'): Promise<string> {
  const result = await Bun.build({
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

/** A script as it may stand between its tags. */
const inScript = (code: string) => code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')

const hashOf = (text: string) => `'sha256-${new Bun.CryptoHasher('sha256').update(text).digest('base64')}'`
