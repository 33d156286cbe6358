// Where the keys of an analysis come from: a stored interval of an operator, rows or a
// stream that were pasted or dropped, or a sample.

import { useList } from '../../api.js'
import { count, counted, percent } from '../../format.js'
import { html, useId, useMemo } from '../../html.js'
import { check, FileButton, selectField, Trouble, useDrop } from '../../parts.js'
import { samples } from './samples.js'

/**
 * Where keys come from: of the kind operator an interval, of the kind data a text or a
 * file that is too large to be shown, of the kind sample the name of one.
 *
 * @typedef {object} SourceOf
 * @property {string} kind
 * @property {string} operator
 * @property {string} interval
 * @property {string} epoch of the interval; '' is the newest
 * @property {string} sample
 * @property {'csv' | 'stream'} format
 * @property {string} text
 * @property {File | null} file
 */

/** @typedef {Pick<SourceOf, 'text' | 'file'>} Held */

/** @typedef {(change: Partial<SourceOf>) => void} Change */

const inAddress = 3_000 // characters of pasted data that a link holds
const offered = 300 // intervals to choose from
const shownText = 200_000 // characters of a file that are shown

/** Pasted data that is too long for the address, by the view it was pasted in: it stays as long as the page. */
/** @type {Map<string, Held>} */
const kept = new Map()

const kinds = ['operator', 'data', 'sample']

/**
 * What the query of a place says about the source.
 *
 * @param {Query} query
 * @param {string} analysis
 * @returns {SourceOf}
 */
export function sourceOf(query, analysis) {
  const held = kept.get(analysis)
  const given = query.source === 'data' && held ? held : { text: '', file: null }
  const own = query.data !== undefined ? { text: query.data, file: null } : given
  const implied = query.operator ? 'operator' : query.data !== undefined ? 'data' : 'sample'
  return {
    kind: kinds.find((kind) => kind === query.source) ?? implied,
    operator: query.operator ?? '',
    interval: query.interval ?? '',
    epoch: query.epoch ?? '',
    sample: Object.keys(samples).find((name) => name === query.sample) ?? '',
    format: query.format === 'stream' ? 'stream' : 'csv',
    ...own,
  }
}

/**
 * Keeps what is too long for the address.
 *
 * @param {Held} held
 * @param {string} analysis
 */
export const keep = ({ text, file }, analysis) => kept.set(analysis, { text, file })

/**
 * What the query says of a source.
 *
 * @param {SourceOf} source
 */
export function queryOf(source) {
  const none = { source: null, operator: null, interval: null, epoch: null, sample: null, format: null, data: null }
  if (source.kind === 'operator')
    return { ...none, operator: source.operator, interval: source.interval, epoch: source.epoch }
  if (source.kind === 'sample') return { ...none, sample: source.sample }
  const long = source.file !== null || source.text.length > inAddress
  return {
    ...none,
    source: 'data',
    format: source.format === 'stream' ? 'stream' : null,
    data: long ? null : source.text,
  }
}

/**
 * Whether there is something to analyse.
 *
 * @param {SourceOf} source
 */
export const complete = (source) =>
  source.kind === 'operator'
    ? source.operator !== '' && source.interval !== ''
    : source.kind === 'sample'
      ? source.sample !== ''
      : source.file !== null || source.text.trim() !== ''

/**
 * The text of rows or of a stream, with an end to its last line; a file as it is.
 *
 * @param {SourceOf} source
 */
export function bodyOf(source) {
  if (source.kind === 'sample') return samples[source.sample].make()
  if (source.file) return source.file
  return source.text.endsWith('\n') ? source.text : `${source.text}\n`
}

/** @param {SourceOf} source */
export const typeOf = (source) => (source.kind === 'data' && source.format === 'stream' ? 'text/plain' : 'text/csv')

/** @type {Record<string, string>} */
const kindWords = { operator: 'Stored interval', data: 'Rows of my own', sample: 'Sample' }

/**
 * The part of the form that says where the keys are.
 *
 * @param {{ source: SourceOf, change: Change, streams: boolean }} props
 */
export function Source({ source, change, streams }) {
  const name = useId()
  return html`<fieldset class="analyses-source">
    <legend>Keys</legend>
    <div class="row checks">
      ${kinds.map((kind) =>
        check(source.kind === kind, () => change({ kind }), kindWords[kind], { type: 'radio', key: kind, name }),
      )}
    </div>
    ${source.kind === 'operator' && html`<${Stored} source=${source} change=${change} />`}
    ${source.kind === 'data' && html`<${Data} source=${source} change=${change} streams=${streams} />`}
    ${
      source.kind === 'sample' &&
      selectField(
        'Made in the browser',
        source.sample,
        [['', 'Choose a sample'], ...Object.entries(samples).map(([id, { words }]) => [id, words])],
        (sample) => change({ sample }),
      )
    }
  </fieldset>`
}

/**
 * A stored interval of an operator.
 *
 * @param {{ source: SourceOf, change: Change }} props
 */
function Stored({ source, change }) {
  /** @type {Watched<Items<API['Operator']>>} */
  const operators = useList('v1/operators', 'operators')
  /** @type {Watched<Items<PlanSummary>>} */
  const plans = useList(source.operator ? `v1/operators/${encodeURIComponent(source.operator)}/plans` : null, 'plans', {
    limit: offered,
  })
  const names = useMemo(() => (operators.data?.items ?? []).map((o) => o.name).sort(), [operators.data])
  const most = operators.data?.items.find((o) => o.name === source.operator)?.retention.inputs || undefined
  const intervals = useMemo(() => intervalsOf((plans.data?.items ?? []).slice(0, most)), [plans.data, most])
  const chosen = `${source.epoch}:${source.interval}`
  /** @param {string} value */
  const choose = (value) => {
    const [epoch, interval] = value.split(':')
    change({ epoch, interval })
  }
  const known = source.interval === '' || intervals.some(([value]) => value === chosen)
  const unlisted = known ? [] : [[chosen, source.interval]]
  const none = !source.operator
    ? '–'
    : plans.loading
      ? 'Loading'
      : intervals.length === 0 && !plans.problem
        ? 'No interval yet'
        : 'Choose an interval'
  return html`
    <div class="fields">
      ${selectField(
        'Operator',
        source.operator,
        [
          ['', operators.loading ? 'Loading' : names.length === 0 ? 'There is none' : 'Choose an operator'],
          ...[...new Set([source.operator, ...names])].filter(Boolean).map((n) => [n, n]),
        ],
        (operator) => change({ operator, interval: '', epoch: '' }),
      )}
      ${selectField('Interval', source.interval === '' ? '' : chosen, [['', none], ...unlisted, ...intervals], choose, {
        disabled: !source.operator,
      })}
    </div>
    ${
      (operators.problem ?? plans.problem) &&
      html`<${Trouble}
        problem=${operators.problem ?? plans.problem}
        retry=${operators.problem ? operators.reload : plans.reload}
      />`
    }
    <p class="hint">
      Its keys, what they cost and their state, as they were
      sent${most && `; those of the newest ${count(most)} intervals are kept`}.
    </p>
  `
}

/**
 * The intervals of plans, newest first, each once. The newest epoch need not be named.
 *
 * @param {PlanSummary[]} plans
 */
function intervalsOf(plans) {
  const newest = Math.max(0, ...plans.map((p) => p.epoch))
  const each = Map.groupBy(plans, (p) => `${p.epoch === newest ? '' : p.epoch}:${p.interval}`)
  return [...each].map(([value, [p]]) => {
    const of = p.epoch === newest ? '' : ` of epoch ${p.epoch}`
    return [value, `${count(p.interval)}${of} · θ ${percent(p.theta.before)}`]
  })
}

/**
 * Pasted or dropped rows, or a stream.
 *
 * @param {{ source: SourceOf, change: Change, streams: boolean }} props
 */
function Data({ source, change, streams }) {
  const id = useId()
  /** @param {File} file */
  const take = async (file) => {
    const stream = streams && /\.(txt|log|keys)$/i.test(file.name)
    const text = file.size <= shownText ? await file.text() : null
    change({
      ...(streams && { format: stream ? 'stream' : 'csv' }),
      ...(text === null ? { text: '', file } : { text, file: null }),
    })
  }
  const over = useDrop(take)
  const stream = source.format === 'stream'
  const long = source.file !== null || source.text.length > inAddress
  return html`
    ${
      streams &&
      html`<div class="row checks">
        ${check(!stream, () => change({ format: 'csv' }), 'Rows (CSV)', { type: 'radio', name: `${id}-format` })}
        ${check(stream, () => change({ format: 'stream' }), 'A stream, one key a line', {
          type: 'radio',
          name: `${id}-format`,
        })}
      </div>`
    }
    <div class="field ${over ? 'analyses-over' : ''}">
      <label for="${id}-text">${stream ? 'Keys, one a line' : 'Rows'}</label>
      ${
        source.file
          ? html`<p class="analyses-file">
              <strong>${source.file.name}</strong> <span class="muted">
                ${counted(source.file.size, 'byte')}
              </span> <button type="button" onClick=${() => change({ file: null, text: '' })}>Remove</button>
            </p>`
          : html`<textarea
              id="${id}-text"
              rows="6"
              spellcheck=${false}
              placeholder=${stream ? 'user:1\nuser:2\nuser:1' : 'key,cost,state\nuser:1,40,900\nuser:2,25,300'}
              value=${source.text}
              onInput=${(e) => change({ text: e.currentTarget.value })}
            ></textarea>`
      }
      <p class="row">
        <${FileButton} accept=".csv,.txt,.log,.keys,text/csv,text/plain" onFile=${take}>Open a file<//>
        <span class="hint">or drop one here.</span>
      </p>
    </div>
    ${
      long &&
      html`<p class="hint" role="status">This is too long for the address: a link to this page does not contain it.</p>`
    }
    ${
      !long &&
      source.text === '' &&
      html`<p class="hint">
        ${stream ? 'The order counts.' : 'A header with key, cost and where there is one state.'} What is short becomes
        part of the address.
      </p>`
    }
  `
}
