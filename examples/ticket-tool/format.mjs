// The fields of a ticket.
export const FORMAT = {
  type: 'json_schema',
  json_schema: {
    name: 'ticket',
    strict: true,
    schema: {
      type: 'object',
      properties: { topic: { type: 'string', enum: ['delivery', 'invoice', 'other'] }, urgent: { type: 'boolean' } },
      required: ['topic', 'urgent'],
      additionalProperties: false,
    },
  },
}
