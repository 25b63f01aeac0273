// Seed files: a whole workspace in one YAML file, with its documents next to it. Strict, with the position of every
// mistake.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { statedVersion } from '../../contract/core/format-version.ts'
import type { Problem } from '../../contract/core/problem.ts'
import { ContactBody } from '../../contract/workspace/contact.ts'
import { DatapointBody, DatasetBody } from '../../contract/workspace/dataset.ts'
import { EVALUATOR_TYPES, EvaluatorBody, EvaluatorPatch } from '../../contract/workspace/evaluator.ts'
import { FeedbackBody } from '../../contract/workspace/feedback.ts'
import { ChunkingOptions, InternalKnowledgeBody } from '../../contract/workspace/knowledge.ts'
import { ProjectBody } from '../../contract/workspace/project.ts'
import { ReviewSetBody } from '../../contract/workspace/review-set.ts'
import { checkToolType, ToolPatch, ToolShape } from '../../contract/workspace/tool.ts'
import { isCompiled, readAsset } from '../../lib/assets.ts'
import { once } from '../../lib/once.ts'
import { FileError, parseSource } from '../../schema/source.ts'
import { formatPath, problemsOf, safeParse } from '../../schema/validation.ts'
import type { YamlLimits } from '../../schema/yaml-text.ts'

const Document = z.strictObject({
  file: z.string().min(1).describe('Path of the document, from the seed file.'),
  display_name: z.string().min(1).optional(),
  chunking_options: ChunkingOptions.optional(),
})
const [llmEvaluator, schemaEvaluator] = EvaluatorBody.options
const [bySpan, byName] = ReviewSetBody.options
const changes = { changes: z.array(EvaluatorPatch.strict()).default([]) }
const project = { project: z.string().optional() }
/** The schema of a seed file. */
export const SeedSchema = z.strictObject({
  projects: z.array(ProjectBody.strict()).default([]),
  contacts: z.array(ContactBody.strict()).default([]),
  tools: z
    .array(
      ToolShape.extend({ changes: z.array(ToolPatch.strict()).default([]) })
        .strict()
        .superRefine(checkToolType),
    )
    .default([])
    .describe('Tools by key; each of `changes` makes a version.'),
  evaluators: z
    .array(
      z.discriminatedUnion('type', [llmEvaluator.extend(changes).strict(), schemaEvaluator.extend(changes).strict()], {
        error: EVALUATOR_TYPES,
      }),
    )
    .default([])
    .describe('Evaluators by key; each of `changes` makes a version.'),
  datasets: z
    .array(z.object({ ...DatasetBody.shape, datapoints: z.array(DatapointBody.strict()).default([]) }).strict())
    .default([])
    .describe('Datasets by display_name.'),
  knowledge: z
    .array(z.object({ ...InternalKnowledgeBody.shape, documents: z.array(Document).default([]) }).strict())
    .default([])
    .describe('Knowledge bases by key, with the documents that become datasources.'),
  review_sets: z
    .array(z.discriminatedUnion('filter_type', [bySpan.extend(project).strict(), byName.extend(project).strict()]))
    .default([])
    .describe('Review sets by display_name; `project` is the name of one.'),
  feedback: z
    .array(FeedbackBody.required({ id: true }).strict())
    .default([])
    .describe('Feedback by id. The trace that it names need not be there.'),
  version: statedVersion('seed_file'),
})
/** The content of a seed file. */
export type Seed = z.infer<typeof SeedSchema>

/** A seed file with its documents, by their paths in it. */
export interface SeedFile {
  seed: Seed
  documents: Map<string, Uint8Array>
}

/** Maximum number of reported mistakes of one file. */
const MAX_PROBLEMS = 100

/**
 * Parses a seed file; `read` returns a document, undefined if there is none.
 * @throws FileError
 */
export function parseSeed(
  text: string,
  name: string,
  read: (path: string) => Uint8Array | undefined,
  limits?: YamlLimits,
): SeedFile {
  const file = parseSource(name, text, limits)
  const value = file.value ?? {}
  const result = safeParse(SeedSchema, value)
  const problems = result.success ? dropped(value, result.data) : problemsOf(result.error, value)
  if (!result.success || problems.length > 0) {
    const lines = problems.slice(0, MAX_PROBLEMS).map((problem) => file.line(problem, 'the seed'))
    throw new FileError(lines)
  }
  const documents = new Map<string, Uint8Array>()
  for (const [index, base] of result.data.knowledge.entries()) {
    for (const [position, { file: path }] of base.documents.entries()) {
      const bytes = read(path)
      const at = ['knowledge', index, 'documents', position, 'file']
      if (!bytes) throw new FileError(`${file.at(at)}: ${formatPath(at)} ${JSON.stringify(path)} does not exist`)
      documents.set(path, bytes)
    }
  }
  return { seed: result.data, documents }
}

/** Unknown nested keys, which calls may have and nothing reads: in a file, each is a mistake. */
function dropped(written: unknown, read: unknown, path: readonly PropertyKey[] = []): Problem[] {
  if (typeof written !== 'object' || written === null || typeof read !== 'object' || read === null) return []
  return Object.entries(written).flatMap(([name, value]) => {
    const at = [...path, Array.isArray(written) ? Number(name) : name]
    return name in read
      ? dropped(value, (read as Record<string, unknown>)[name], at)
      : [{ path: at, message: 'is not known' }]
  })
}

/**
 * Reads a seed file.
 * @param onFile called with its path and that of each of its documents
 * @throws FileError
 */
export function readSeed(path: string, onFile: (path: string) => void = () => {}): SeedFile {
  onFile(path)
  if (!existsSync(path)) throw new FileError(`seed file ${path}: there is no such file`)
  const readBeside = (name: string) => {
    const file = join(dirname(path), name)
    onFile(file)
    return existsSync(file) ? readFileSync(file) : undefined
  }
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new FileError(`seed file ${path} cannot be read: ${(error as Error).message}`)
  }
  return parseSeed(text, path, readBeside)
}

const shippedDocument = (name: string) => readAsset(`fixtures/${name}`)
const SHIPPED = 'fixtures/workspace.yaml'
const fromYaml = () => parseSeed(new TextDecoder().decode(readAsset(SHIPPED)), SHIPPED, shippedDocument)

/** Path of the shipped example as the build stores it: checked, so that the executable parses no YAML. */
export const SEED_FILE = 'dist/seed.json'
/** The content of that file. */
export const seedAsJson = (): string => JSON.stringify(fromYaml().seed)

function fromJson(): SeedFile {
  const seed: Seed = JSON.parse(new TextDecoder().decode(readAsset(SEED_FILE)))
  const names = seed.knowledge.flatMap(({ documents }) => documents.map(({ file }) => file))
  return { seed, documents: new Map(names.map((name) => [name, shippedDocument(name)])) }
}

/** The shipped example, read once: it never changes. */
export const shippedSeed = once((): SeedFile => (isCompiled ? fromJson() : fromYaml()))
