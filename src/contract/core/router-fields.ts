// The fields of a request that only the router's API has.

/** Fields that the router adds to the APIs of providers. */
export const ROUTER_FIELDS: ReadonlySet<string> = new Set([
  'svc',
  'name',
  'fallbacks',
  'retry',
  'cache',
  'load_balancer',
  'timeout',
  'identity',
  'contact',
  'thread',
  'variables',
  'template_engine',
  'guardrails',
  'knowledge',
])
