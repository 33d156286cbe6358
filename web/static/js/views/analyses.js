// The analyses: what token rings, partial key grouping, key ranges and all schemes would
// make of given keys. The address is the question, and the page its answer.

import { html, useEffect, useMemo, useState } from '../html.js'
import { Card, Code, Dialog, Empty, tabs, Trouble, useTitle } from '../parts.js'
import { link, setQuery } from '../route.js'
import { commandOf } from '../shell.js'
import { draftOf, Parameters, queryOfDraft } from './analyses/parameters.js'
import { PKG } from './analyses/pkg.js'
import { questionOf, useContext } from './analyses/question.js'
import { Ranges } from './analyses/ranges.js'
import { Ring } from './analyses/ring.js'
import { Progress, tookWords, useAnalysis } from './analyses/run.js'
import { Schemes } from './analyses/schemes.js'
import { complete, keep, queryOf, Source, sourceOf } from './analyses/source.js'

/**
 * @import { Draft } from './analyses/parameters.js'
 * @import { Context } from './analyses/question.js'
 * @import { Run } from './analyses/run.js'
 * @import { SourceOf } from './analyses/source.js'
 */

/** @typedef {{ source: SourceOf, draft: Draft }} Form */

/** @type {Record<string, { title: string, short?: string, View: any, lead: string }>} */
const kinds = {
  schemes: {
    title: 'All schemes',
    View: Schemes,
    lead:
      'Hashing, token rings, partial key grouping, routing tables and key ranges side by side, for the same keys' +
      ' and the same tolerance: how balanced each is, what it holds and moves, and which one to use.',
  },
  ring: {
    title: 'Token ring',
    View: Ring,
    lead:
      'What the nodes of a token ring carry, whether the policy relieves one, what that moves,' +
      ' and which ring would do better.',
  },
  pkg: {
    title: 'Partial key grouping',
    short: 'PKG',
    View: PKG,
    lead: 'How grouping schemes, from hashing to W-Choices, spread a stream of keys over workers.',
  },
  ranges: {
    title: 'Key ranges',
    View: Ranges,
    lead: 'How an ordered key space is divided among followers, and what a join, a leave, a crash or a drift moves.',
  },
}

/** @param {{ analysis?: string, query: Query }} props */
export default function Analyses({ analysis, query }) {
  const kind = analysis !== undefined && Object.hasOwn(kinds, analysis) ? kinds[analysis] : null
  useTitle(`${kind?.title ?? 'Analyses'} · plannerd`)
  if (analysis === undefined) return html`<${Index} />`
  if (!kind) return html`<${Empty} title="There is no such analysis"><p><a href="#/analyses">All analyses</a></p><//>`
  return html`
    <nav class="crumbs" aria-label="Breadcrumb"><a href="#/analyses">Analyses</a></nav>
    <h1>${kind.title}</h1>
    ${tabs(
      'Analyses',
      Object.entries(kinds).map(([id, k]) => [
        k.short ?? k.title,
        link(['analyses', id], sameKeys(query)),
        id === analysis,
      ]),
    )}
    <p class="muted analyses-lead">${kind.lead}</p>
    <${Analysis} analysis=${analysis} query=${query} />
  `
}

/**
 * The same keys for another analysis.
 *
 * @param {Query} query
 */
const sameKeys = ({ operator, interval, epoch, sample, data, format }) => ({
  operator,
  interval,
  epoch,
  sample,
  ...(format !== 'stream' && { data }),
})

function Index() {
  return html`
    <h1>Analyses</h1>
    <p class="muted analyses-lead">
      Ask what a scheme would make of the keys of a stored interval, of rows of your own, or of a sample. Nothing is
      stored or changed.
    </p>
    <div class="analyses-index">
      ${Object.entries(kinds).map(
        ([id, { title, lead }]) => html`<${Card} title=${title} key=${id}>
          <p>${lead}</p>
          <p class="row analyses-links">
            <a class="button" href=${link(['analyses', id])} aria-label="Analyse: ${title}">Analyse</a> <a
              href=${link(['analyses', id], { sample: 'zipf' })}
              aria-label="See it on a sample: ${title}"
            >
              See it on a sample
            </a>
          </p>
        <//>`,
      )}
    </div>
  `
}

/** @param {{ analysis: string, query: Query }} props */
function Analysis({ analysis, query }) {
  const [turn, setTurn] = useState(0)
  const asked = useMemo(
    () => ({ source: sourceOf(query, analysis), draft: draftOf(analysis, query) }),
    [JSON.stringify(query), turn],
  )
  const [form, setForm] = useState(asked)

  const context = useContext(form.source, analysis)
  const askedContext = useContext(asked.source, analysis)
  const [question, setQuestion] = useState(/** @type {Asked | null} */ (null))
  const key = JSON.stringify([asked.source.kind, queryOf(asked.source), queryOfDraft(analysis, asked.draft)])
  // An address that asks something else is another question; one that only shows something else is not.
  useEffect(() => setForm(asked), [key, turn])
  useEffect(() => {
    let left = false
    const ready = complete(asked.source) && (asked.source.kind !== 'operator' || askedContext.data !== null)
    if (!ready) setQuestion(null)
    else questionOf(analysis, asked.source, asked.draft, askedContext.data).then((q) => !left && setQuestion(q))
    return () => {
      left = true
    }
  }, [key, turn, askedContext.data])
  const run = useAnalysis(question)

  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault()
    keep(form.source, analysis)
    setQuery({ ...queryOf(form.source), ...queryOfDraft(analysis, form.draft) })
    setTurn((n) => n + 1)
  }
  return html`
    <form class="card analyses-form" onSubmit=${submit} aria-label="Question">
      <${Source}
        source=${form.source}
        change=${(c) => setForm((f) => ({ ...f, source: { ...f.source, ...c } }))}
        streams=${analysis === 'pkg' || analysis === 'ring'}
      />
      <${Parameters}
        analysis=${analysis}
        draft=${form.draft}
        change=${(c) => setForm((f) => ({ ...f, draft: { ...f.draft, ...c } }))}
        context=${context.data}
      />
      <div class="row form-foot analyses-foot">
        <${Curl} form=${form} analysis=${analysis} context=${context.data} />
        <button type="submit" class="primary" disabled=${!complete(form.source)}>Analyse</button>
      </div>
    </form>
    ${askedContext.problem && html`<${Trouble} problem=${askedContext.problem} retry=${askedContext.reload} />`}
    <${Progress} run=${run} />
    ${run.problem && html`<${Trouble} problem=${run.problem} retry=${run.again} />`}
    <${Answer} run=${run} analysis=${analysis} query=${query} asked=${asked} />
  `
}

/** @param {{ run: Run, analysis: string, query: Query, asked: Form }} props */
function Answer({ run, analysis, query, asked }) {
  const { View } = kinds[analysis]
  if (run.result) {
    const { query: said, body, type } = run.result.of
    // A question has its parameters in the query, or in a body that is no rows.
    const values = { ...said, ...(type ? null : /** @type {object} */ (body)) }
    return html`<div class="analyses-answer ${run.busy ? 'analyses-old' : ''}" aria-busy=${run.busy}>
      <${View} result=${run.result.data} query=${query} values=${values} />
      <p class="muted">${tookWords(run)}</p>
    </div>`
  }
  if (run.busy || run.problem || run.cancelled || complete(asked.source)) return null
  return html`<div class="card">
    <${Empty} title="No keys yet">
      <p>
        Choose a stored interval, paste or drop rows,
        or <a href=${link(['analyses', analysis], { sample: 'zipf' })}>take a sample</a>.
      </p>
    <//>
  </div>`
}

/**
 * The question as a command.
 *
 * @param {{ form: Form, analysis: string, context: Context | null }} props
 */
function Curl({ form, analysis, context }) {
  const [text, setText] = useState(/** @type {string | null} */ (null))
  const show = async () => setText(commandOf(await questionOf(analysis, form.source, form.draft, context)))
  return html`
    <button type="button" onClick=${show} disabled=${!complete(form.source)}>Show as curl</button>
    ${
      text !== null &&
      html`<${Dialog} title="The same question for curl" onClose=${() => setText(null)}>
        <div class="analyses-curl"><${Code} text=${text} label="Command for bash" /></div>
      <//>`
    }
  `
}
