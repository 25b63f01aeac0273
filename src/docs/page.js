// Served behind Swagger UI's own script and run in the browser: what the page does besides. It keeps what is no part of the
// specification folded, finds operations by any of their words, and authorizes with a token where any will do.
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

  /** What is found is shown, folded groups too; without a filter they are folded again, before all of them are drawn. */
  const plugin = (folded) => ({
    fn: { opsFilter },
    statePlugins: {
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
      plugins: [() => plugin(folded)],
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
