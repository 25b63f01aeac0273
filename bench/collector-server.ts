// A collector that reads what it gets and keeps nothing of it: what exporting costs is measured at who exports.

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  async fetch({ body }) {
    const reader = body?.getReader()
    while (reader && !(await reader.read()).done);
    return Response.json({})
  },
})
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }))
