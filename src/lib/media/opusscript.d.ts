// Types that the package `opusscript` lacks: its WebAssembly, and its loader.

declare module 'opusscript/build/opusscript_native_wasm.js' {
  /** One encoder or decoder inside the WebAssembly. */
  interface OpusHandler {
    _encoder_ctl(control: number, value: number): number
    /** Length of the packet in bytes, or an error code below 0. */
    _encode(input: number, length: number, output: number, samples: number): number
  }

  /** The loaded WebAssembly: its memory, and the class of its handlers. */
  export interface Opus {
    OpusScriptHandler: {
      new (rate: number, channels: number, application: number): OpusHandler
      destroy_handler(handler: OpusHandler): void
    }
    HEAPU8: Uint8Array
    HEAPU16: Uint16Array
    _malloc(length: number): number
    _free(address: number): void
  }

  const load: (options: { wasmBinary: Uint8Array }) => Opus
  // biome-ignore lint/style/noDefaultExport: it is the package's own
  export default load
}

declare module '*.wasm' {
  const path: string
  // biome-ignore lint/style/noDefaultExport: it is how the bundler gives a path
  export default path
}
