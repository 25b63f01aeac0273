// The tools of the agent.
export const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'book_courier',
      description: 'Has a parcel fetched.',
      parameters: { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] },
    },
  },
]
