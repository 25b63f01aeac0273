// The platforms that executables are built for.

/** As Node names them: the operating system and the processor. */
export const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'] as const
/** This one. */
export const here = `${process.platform}-${process.arch}`
/** Name of the executable file on a platform. */
export const executableOf = (platform: string): string =>
  platform.startsWith('win32') ? 'understudy.exe' : 'understudy'
