// Datapoints: the rows of a dataset. Each change of one is a new version of the dataset.
import { Datapoint, DatapointBody } from '../contract/dataset.ts'
import { ulidForm } from '../contract/workspace.ts'
import { countsOf, datasets } from './datasets.ts'
import { defineResource, recordOf } from './define.ts'
import { saveRecord } from './verbs.ts'
import { versionName } from './versions.ts'

const STEPS = { create: 1, update: 0, delete: -1 }

export const datapoints = defineResource({
  kind: 'datapoint',
  noun: 'datapoint',
  plural: 'datapoints',
  tag: 'Datasets',
  path: '/v2/datasets/:dataset_id/datapoints',
  param: 'datapoint_id',
  parent: datasets,
  id: ulidForm,
  verbs: ['create', 'list', 'get', 'update', 'delete'],
  shown: ['update'],
  examples: {
    create: {
      question: {
        inputs: { language: 'en' },
        messages: [{ role: 'user', content: 'Where is my parcel?' }],
        expected_output: 'Ask for the order number.',
      },
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
  stamp(body, work, { parents }) {
    const dataset = recordOf(datasets, work, parents[0] ?? '').body
    return { ...body, snapshot_version: versionName(countsOf(dataset).total_versions) }
  },
  changed(work, { verb, parents }) {
    const dataset = recordOf(datasets, work, parents[0] ?? '').body
    const counts = countsOf(dataset)
    const metadata = { ...counts, datapoints_count: counts.datapoints_count + STEPS[verb] }
    saveRecord(datasets, work, { parents: [], before: dataset }, { ...dataset, metadata })
  },
})
