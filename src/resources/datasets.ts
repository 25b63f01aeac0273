// Datasets: named collections of datapoints.
import { z } from 'zod'
import { Dataset, DatasetBody, DatasetPatch } from '../contract/workspace/dataset.ts'
import type { Fields } from '../contract/workspace/record.ts'
import { uuidForm } from '../contract/workspace/shared.ts'
import { defineResource, PAGED } from './define.ts'
import { chosenProject } from './projects.ts'
import { versionsOf } from './versions.ts'

const NO_COUNTS = { total_versions: 0, datapoints_count: 0 }
/** The counts of a dataset. */
export const countsOf = (dataset: Fields | undefined): typeof NO_COUNTS =>
  (dataset?.metadata as typeof NO_COUNTS | undefined) ?? NO_COUNTS

/** Datasets (the specification, "Dataset"). */
export const datasets = defineResource({
  kind: 'dataset',
  noun: 'dataset',
  tag: 'Datasets',
  path: '/v2/datasets',
  param: 'dataset_id',
  id: uuidForm,
  refers: true,
  deletedStatus: 204,
  ...PAGED,
  shown: ['get', 'update'],
  examples: {
    create: { questions: { display_name: 'Support questions', path: 'Default/support' } },
    update: { renamed: { display_name: 'Frequent questions' } },
  },
  create: DatasetBody,
  update: DatasetPatch,
  record: Dataset,
  stored: z.looseObject({ metadata: z.looseObject({ total_versions: z.number(), datapoints_count: z.number() }) }),
  versioned: true,
  fill: (input, work, { before }) => ({
    display_name: input.display_name,
    project_id: chosenProject(work, input, before),
    metadata: countsOf(before),
  }),
  stamp: () => (body) => {
    const counts = countsOf(body)
    return { ...body, metadata: { ...counts, total_versions: counts.total_versions + 1 } }
  },
})

/** The versions of datasets. */
export const datasetVersions = versionsOf(datasets)
