// The agent card: its description, URL and A2A versions.
import type { AgentCard, AgentInterface } from '@a2a-js/sdk'
import type { Fields } from '../../contract/workspace/record.ts'

/** Versions of the protocol, the preferred one first. */
const VERSIONS = ['1.0', '0.3'] as const
const MODES = ['text/plain', 'application/json']

/** The card of an agent that is served at `url`. */
export function cardOf(agent: Fields, url: string): AgentCard {
  const { key, display_name, role, description, skills, version } = agent
  const name = String(display_name ?? key)
  const skill = (id: string, about: string) => ({
    id,
    name: id,
    description: about,
    tags: [String(role)],
    examples: [],
    inputModes: [],
    outputModes: [],
    securityRequirements: [],
  })
  const own = Array.isArray(skills) ? skills.map(String) : []
  return {
    name,
    description: String(description),
    supportedInterfaces: VERSIONS.map(
      (protocolVersion): AgentInterface => ({ url, protocolBinding: 'JSONRPC', tenant: '', protocolVersion }),
    ),
    provider: undefined,
    version: String(version ?? '1.0.0'),
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: own.length > 0 ? own.map((id) => skill(id, id)) : [skill(String(key), String(description))],
    signatures: [],
  }
}
