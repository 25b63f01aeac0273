// Datapoints: the rows of a dataset. A change of them creates a new version of the dataset.

import type { Route } from '../contract/core/route.ts'
import { Datapoint, DatapointBody } from '../contract/workspace/dataset.ts'
import type { Fields } from '../contract/workspace/record.ts'
import { Deleted } from '../contract/workspace/shared.ts'
import { countsOf, datasets } from './datasets.ts'
import { defineResource, PAGED, recordOf, type Transaction } from './define.ts'
import { type ResourceDeps, recordRoute } from './routes.ts'
import { findRecord, saveRecord, workOf } from './verbs.ts'
import { versionName } from './versions.ts'

const STEPS = { create: 1, update: 0, delete: -1 }

const question = {
  inputs: { language: 'en' },
  messages: [{ role: 'user', content: 'Where is my parcel?' }],
  expected_output: 'Ask for the order number.',
}

/** Datapoints of a dataset (the specification, "Datapoint"). */
export const datapoints = defineResource({
  kind: 'datapoint',
  noun: 'datapoint',
  tag: 'Datasets',
  path: '/v2/datasets/:dataset_id/datapoints',
  param: 'datapoint_id',
  parent: datasets,
  deletedStatus: 204,
  ...PAGED,
  mostAtOnce: 5_000,
  shown: ['update'],
  descriptions: {
    create:
      'Creates datapoints. The response is an array if the request is one, and otherwise a single datapoint. Each request creates one version of the dataset.',
  },
  examples: {
    create: {
      question,
      several: [question, { inputs: { language: 'de' } }],
    },
    update: { corrected: { expected_output: 'Ask for the order number and the postcode.' } },
  },
  create: DatapointBody,
  update: DatapointBody,
  record: Datapoint,
  fill: (input, _, { parents, before }) => ({
    dataset_id: parents[0],
    ...input,
    ...(before?.evaluations !== undefined && { evaluations: before.evaluations }),
    ...(before && { snapshot_version: before.snapshot_version }),
  }),
  stamp(work, { parents }) {
    const dataset = recordOf(datasets, work, parents[0] ?? '').body
    const snapshot_version = versionName(countsOf(dataset).total_versions)
    return (body) => ({ ...body, snapshot_version })
  },
  changed: (work, { verb, parents, records }) =>
    count(work, recordOf(datasets, work, parents[0] ?? '').body, STEPS[verb] * records.length),
})

/** Counts datapoints that were added to a dataset or deleted from it, which is a new version. */
function count(work: Transaction, dataset: Fields, more: number): void {
  const counts = countsOf(dataset)
  const metadata = { ...counts, datapoints_count: counts.datapoints_count + more }
  saveRecord(datasets, work, { parents: [], before: dataset }, { ...dataset, metadata })
}

/** The route that clears a dataset. */
export const clearRoute = (deps: ResourceDeps): Route =>
  recordRoute(datasets, deps, {
    method: 'delete',
    path: '/v2/datasets/:dataset_id/clear',
    summary: 'Clear a dataset',
    description: 'Deletes all datapoints of the dataset. This creates one version.',
    operationId: 'clearDataset',
    status: 204,
    response: Deleted,
    async handle({ params, session, caller }) {
      await session.transact(() => {
        const work = workOf(session, caller)
        const dataset = findRecord(datasets, work, params)
        const deleted = work.records.empty({ kind: datapoints.kind, parent: String(dataset._id) })
        if (deleted > 0) count(work, dataset, -deleted)
      })
      return {}
    },
  })
