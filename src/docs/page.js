// Served behind Swagger UI's own script and run in the browser: what the page does besides. It keeps what is no part of the
// specification folded, finds operations by any of their words, authorizes with a token where any will do, and resolves only what is shown.
{
  const swagger = window.SwaggerUIBundle
  const WORDS = ['path', 'method']
  const NAMES = ['operationId', 'summary']

  const wordsOf = (operation) =>
    [...WORDS.map((key) => operation.get(key)), ...NAMES.map((key) => operation.getIn(['operation', key]))]
      .join(' ')
      .toLowerCase()

  /** The groups with the operations that have every word in their path, name or summary, or in the name of the group. */
  const opsFilter = (groups, phrase) => {
    const wanted = phrase.toLowerCase().split(/\s+/)
    const found = (operation, group) =>
      wanted.every((word) => `${group.toLowerCase()} ${wordsOf(operation)}`.includes(word))
    return groups
      .map((group, name) => group.update('operations', (all) => all.filter((one) => found(one, name))))
      .filter((group) => group.get('operations').size > 0)
  }

  const fold = ({ layoutActions }, groups, open) => {
    for (const group of groups) layoutActions.show(['operations-tag', group], open)
  }

  /**
   * The part of a document that a path in it refers to. Swagger UI otherwise prepares the whole document for each operation that is
   * opened: 3.0 s of processor time for this one, and 1.1 s for such a part.
   */
  const partFor = (document, [area, kind, name]) => {
    if (area !== 'paths' && area !== 'components') return document
    const part = { ...document, paths: {}, components: {} }
    const include = (into, from, key) => {
      if (!Object.hasOwn(from, key) || Object.hasOwn(into, key)) return
      into[key] = from[key]
      JSON.stringify(from[key], (word, value) => {
        if (word === '$ref' && typeof value === 'string' && value.startsWith('#/components/')) {
          const [, , group, one] = value.split('/')
          part.components[group] ??= {}
          include(part.components[group], document.components[group], one)
        }
        return value
      })
    }
    if (area === 'components' && name !== undefined) {
      part.components[kind] = {}
      include(part.components[kind], document.components[kind], name)
    } else include(part[area], document[area], kind)
    return part
  }

  /** What is found is shown, folded groups too; without a filter they are folded again, before all of them are drawn. */
  const plugin = (folded, { resolveSubtree }) => ({
    fn: {
      opsFilter,
      resolveSubtree: (document, path, options) => resolveSubtree(partFor(document, path), path, options),
    },
    statePlugins: {
      spec: {
        wrapActions: {
          // It is JSON, for which Swagger UI's parser of YAML takes 0.2 s.
          parseToJson:
            (_, { specActions }) =>
            (text) =>
              specActions.updateJsonSpec(JSON.parse(text)),
        },
      },
      layout: {
        wrapActions: {
          updateFilter: (update, system) => (filter) => {
            if (!filter) fold(system, folded, false)
            const action = update(filter)
            if (filter) fold(system, folded, true)
            return action
          },
        },
      },
    },
  })

  window.SwaggerUIBundle = ({ token, folded, ...options }) => {
    const ui = swagger({
      ...options,
      plugins: [({ fn }) => plugin(folded, fn)],
      onComplete() {
        // Whoever has set another token meanwhile keeps it.
        if (token && !ui.authSelectors.authorized().has('bearer')) ui.preauthorizeApiKey('bearer', token)
      },
    })
    // Before the document has come.
    fold(ui, folded, false)
    return ui
  }
}
