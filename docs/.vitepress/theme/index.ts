// The default theme with the fonts of the reader's system.
import DefaultTheme from 'vitepress/theme-without-fonts'
import './style.css'

// biome-ignore lint/style/noDefaultExport: VitePress reads the theme from the default export.
export default DefaultTheme
