// The platforms that executables are built for.

/** As Node names them: the operating system and the processor; behind them musl, where that is the C library. */
export const platforms = [
  'linux-x64',
  'linux-arm64',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
  'win32-x64',
  'win32-arm64',
] as const
/** This one. */
export const ownPlatform = `${process.platform}-${process.arch}`
/** Name of the executable file on a platform. */
export const executableOf = (platform: string): string =>
  platform.startsWith('win32') ? 'understudy.exe' : 'understudy'
/** Whether programs there link musl, as in Alpine. */
export const isMusl = (platform: string): boolean => platform.endsWith('-musl')
/** The database driver's own name of a platform. */
export const driverOf = (platform: string): string =>
  isMusl(platform) ? platform.replace('linux', 'linuxmusl').replace('-musl', '') : platform
