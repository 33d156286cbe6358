// Statistics of one's own: pasted, from a file, or an example.

import { counted, exactly } from '../../format.js'
import { html, useEffect, useRef, useState } from '../../html.js'
import { Field, FileButton, selectField } from '../../parts.js'
import { setQuery } from '../../route.js'
import { hashFields } from './ask.js'
import { Columns, fits, sampleTable } from './columns.js'
import { pack, sample, survey, unpack } from './csv.js'

/**
 * @import { Source } from './ask.js'
 * @import { Reading, Survey } from './csv.js'
 */

const editable = 256 * 1024 // bytes of a file that are shown to be edited
const pasted = 'pasted.csv'
const pause = 300 // milliseconds of not typing before a text is read

/**
 * What is told of a file that is wanted: enough to know it by.
 *
 * @typedef {{ name: string, bytes: number, rows: number, cost: number }} Wanted
 */

/**
 * Statistics: body is a text or a file, text null where that is too large to be edited,
 * survey what is in it, packed a part of a link that stands for all of it.
 *
 * @typedef {object} Held
 * @property {string | File | null} body
 * @property {string | null} text
 * @property {string} name
 * @property {Survey | null} survey
 * @property {string | null} packed
 * @property {boolean} damaged
 */

/** @typedef {ReturnType<typeof useStatistics>} Given */

/**
 * What was given last, for when the visitor comes back to this page.
 *
 * @type {Held | null}
 */
let held = null

/** @type {Held} */
const blank = { body: null, text: '', name: '', survey: null, packed: null, damaged: false }

/** How the columns of a body are read, in the link. */
const affinityFields = ['affinity_tag', 'affinity_until', 'affinity_count']

const readingFields = ['columns', 'delimiter', 'decimal', 'header', 'skip']

/** What takes that out of the link. */
const unread = Object.fromEntries(readingFields.map((name) => [name, null]))

/** @param {Query} query */
const readingOf = (query) => Object.fromEntries(readingFields.map((name) => [name, query[name] ?? null]))

/** @param {string | null | undefined} text */
const firstLine = (text) => text?.split('\n', 1)[0]

/**
 * What a link says of a file that it does not carry.
 *
 * @param {Query} query
 */
const fingerprint = ({ file, bytes, rows, cost }) =>
  rows === undefined ? null : { name: file ?? '', bytes: Number(bytes), rows: Number(rows), cost: Number(cost) }

/**
 * @param {Pick<Survey, 'rows' | 'cost'>} a
 * @param {Pick<Survey, 'rows' | 'cost'>} b
 */
const same = (a, b) => a.rows === b.rows && a.cost === b.cost

/**
 * Whether what is held is what a link names.
 *
 * @param {Held} one
 * @param {Query} query
 */
function isHeld(one, query) {
  if (query.csv) return one.packed === query.csv
  const named = fingerprint(query)
  return named !== null && one.survey !== null && same(one.survey, named)
}

/**
 * The statistics that the visitor gives, and what takes others: type a text, take a file,
 * fill the example. missing and other are the file that the link was made with, if it is
 * not here or not this one.
 * @param {Query} query
 */
export function useStatistics(query) {
  const [given, give] = useState(() => (held && isHeld(held, query) ? held : blank))
  const [wanted, want] = useState(() => (query.csv ? null : fingerprint(query)))
  const reading = useRef(new AbortController())
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined))
  const packed = useRef(given.packed)
  useEffect(() => () => clearTimeout(timer.current), [])

  const begin = () => {
    clearTimeout(timer.current)
    reading.current.abort()
    reading.current = new AbortController()
    return reading.current.signal
  }

  /**
   * Reads what was given, and puts it into the link: all of it, or what tells it apart.
   *
   * @param {string | File} body
   * @param {string | null} text
   * @param {string} name
   * @param {Reading & Record<string, unknown>} more
   */
  const read = async (body, text, name, more) => {
    const signal = begin()
    give({ ...blank, body, text, name })
    const found = await survey(body, signal, more)
    if (signal.aborted) return
    const part = text ? await pack(text) : null
    if (signal.aborted) return
    packed.current = part
    held = { ...blank, body, text, name, survey: found, packed: part }
    give(held)
    if (body === '') setQuery({ csv: null, file: null, bytes: null, rows: null, cost: null })
    else
      setQuery({
        source: 'csv',
        csv: part,
        file: name,
        bytes: found.bytes,
        rows: found.rows,
        cost: found.cost,
        ...more,
      })
  }

  useEffect(() => {
    if (!query.csv || query.csv === packed.current) return
    packed.current = query.csv
    unpack(query.csv).then((text) =>
      text === null ? give({ ...blank, damaged: true }) : read(text, text, query.file || pasted, readingOf(query)),
    )
  }, [query.csv])

  /** @param {string} text */
  const type = (text) => {
    const signal = begin()
    give({ ...blank, text, name: pasted })
    const more = firstLine(text) === firstLine(held?.text) ? readingOf(query) : unread
    timer.current = setTimeout(() => !signal.aborted && read(text, text, pasted, more), pause)
  }
  const missing = given.body === null && !given.text ? wanted : null
  /** @param {File} file */
  const take = async (file) => {
    const text = file.size <= editable ? await file.text() : null
    return read(text ?? file, text, file.name, missing ? readingOf(query) : unread)
  }
  /** @param {Record<string, unknown>} more */
  const fill = (more) => {
    const text = sample()
    return read(text, text, 'sample.csv', { ...unread, ...more })
  }
  /** @param {Reading} said */
  const use = (said) => given.body !== null && read(given.body, given.text, given.name, said)
  const unfit = given.survey !== null && given.survey.rows > 0 && !query.columns && !fits(given.survey)
  const other = wanted && given.survey && !unfit && !same(wanted, given.survey) ? wanted : null
  return {
    ...given,
    unfit,
    use,
    missing,
    other,
    accept: () => want(null),
    type,
    take,
    fill,
  }
}

/** @param {Wanted} f */
const told = (f) =>
  `${f.name || 'a file'}, ${counted(f.rows, 'row')} (${counted(f.bytes, 'byte')}), total cost ${exactly(f.cost)}`

const csvHint =
  'A header, then a row for each key: key, cost (or frequency), and if known state, instance, hash_instance. ' +
  'Of columns with other names, or without a header, you are asked which is what.'

/**
 * Where statistics come in.
 *
 * @param {{ csv: Given, query: Query, busy: boolean, onSample: () => void }} props
 */
export function Statistics({ csv, query, busy, onSample }) {
  return html`
    ${
      csv.damaged &&
      html`<p class="stale" role="alert">
        The link was cut short or damaged, so the CSV within it cannot be read. Paste or choose it again.
      </p>`
    }
    ${
      csv.missing &&
      html`<p class="stale" role="status">
        This link does not carry its file: ${told(csv.missing)}. Choose or paste it to see the same results.
      </p>`
    }
    ${
      csv.other &&
      html`<p class="stale" role="status">
        This is not the file of the link, which was ${told(csv.other)}.${' '}
        <button type="button" onClick=${csv.accept}>Go on with this one</button>
      </p>`
    }
    <div class="row bar whatif-give">
      <div class="row whatif-buttons">
        <${FileButton} accept=".csv,.txt,text/csv,text/plain" onFile=${csv.take}>Choose a file<//>
        <button
          type="button"
          class=${csv.body === null && !csv.text ? 'primary' : ''}
          onClick=${onSample}
          disabled=${busy}
        >
          Try a sample
        </button>
      </div>
      <p class="hint">or drop a file on this page</p>
    </div>
    ${
      csv.text === null
        ? html`<p>
            ${csv.name} is too large to be edited here.${' '}
            <button type="button" onClick=${() => csv.type('')}>Give another</button>
          </p>`
        : html`<${Field}
            label="CSV"
            hint=${csvHint}
          >
            ${(id) =>
              html`<textarea
                id=${id}
                rows="7"
                class="whatif-csv"
                spellcheck=${false}
                wrap="off"
                placeholder=${'key,cost,state\nuser:1,40,900\nuser:2,25,300'}
                value=${csv.text}
                onInput=${(e) => csv.type(e.currentTarget.value)}
              ></textarea>`}
          <//>`
    }
    <div role="status">
      ${
        csv.survey
          ? !csv.unfit && html`<${Preview} ...${csv} read=${!!query.columns} />`
          : csv.body !== null && html`<p class="muted">Reading ${csv.name}…</p>`
      }
    </div>
    ${csv.unfit && csv.survey && html`<${Columns} head=${csv.survey.head} use=${csv.use} key=${csv.survey.hash} />`}
    <${Placement} query=${query} />
  `
}

/** @param {Pick<Given, 'name' | 'packed' | 'use'> & { survey: Survey, read: boolean }} props */
function Preview({ name, survey: s, packed, use, read }) {
  if (s.header === null) return null
  const more = s.rows - s.first.length
  return html`<div class="whatif-preview">
    <p>
      <strong>${name}</strong> · ${counted(s.rows, 'row')} · ${counted(s.bytes, 'byte')} · total cost ${exactly(s.cost)}
    </p>
    ${s.first.length > 0 && sampleTable(`The first rows of ${name}`, s.first, s.header)}
    ${more > 0 && html`<p class="hint">… and ${counted(more, 'more row', 'more rows')}</p>`}
    ${read && html`<${Again} use=${use} />`}
    ${
      packed === null &&
      html`<p class="hint">
        The file is too large for a link: whoever opens yours is asked for it, and told how to know that it is the same.
      </p>`
    }
  </div>`
}

/** @param {Pick<Given, 'use'>} props */
function Again({ use }) {
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null))
  useEffect(() => {
    // The form that was left had the focus.
    if (document.activeElement === document.body) button.current?.focus()
  }, [])
  return html`<div class="row whatif-buttons">
    <button type="button" ref=${button} onClick=${() => use(unread)}>Choose the columns again</button>
  </div>`
}

const functions = [
  ['', 'auto: reported or ring'],
  ['ring', 'ring'],
  ['modulo', 'modulo'],
  ['reported', 'reported in hash_instance'],
  ['flink', 'flink'],
  ['kafka', 'kafka'],
]

/**
 * How many instances there are, and what places keys on them.
 *
 * @param {{ query: Query }} props
 */
function Placement({ query }) {
  const own = query.hash_function ?? ''
  /**
   * @param {string} name
   * @param {string} label
   * @param {number} most
   * @param {string} [hint]
   */
  const number = (name, label, most, hint) =>
    html`<${Field} label=${label} hint=${hint}>
      ${(id) =>
        html`<input
          id=${id}
          type="number"
          min="1"
          max=${most}
          step="1"
          value=${query[name] ?? ''}
          onInput=${(e) => setQuery({ [name]: e.currentTarget.value })}
        />`}
    <//>`
  /**
   * @param {string} name
   * @param {string} label
   * @param {string[][]} options
   * @param {Record<string, null>} [clear]
   */
  const choice = (name, label, options, clear) =>
    selectField(label, query[name] ?? '', options, (value) => setQuery({ ...clear, [name]: value }))
  const cleared = Object.fromEntries(hashFields.map((name) => [name, null]))
  return html`<div class="fields">
    ${number('instances', 'Instances', 65_536, 'Ids from 0, capacity 1 each.')}
    ${choice('hash_function', 'Hash function', functions, cleared)}
    ${
      (own === '' || own === 'ring') && number('tokens_per_instance', 'Tokens per instance', 65_536, '128 unless said.')
    }
    ${own === 'flink' && number('max_parallelism', 'Max parallelism', 32_768, '128 unless said.')}
    ${
      own === 'flink' &&
      choice('key_type', 'Key type', [
        ['', 'string'],
        ['int', 'int'],
        ['long', 'long'],
      ])
    }
    ${own === 'kafka' && number('partitions', 'Partitions', 1_000_000)}
    ${choice(
      'affinity_tag',
      'Keys that stay together',
      [
        ['', 'each by itself, or by the text below'],
        ['true', 'those of one tag between { and }'],
      ],
      { affinity_tag: null, affinity_until: null, affinity_count: null },
    )}
    ${
      !query.affinity_tag &&
      html`<${Field} label="Together up to" hint="Keys with the same text before this, such as /, stay together.">
        ${(id) =>
          html`<input
            id=${id}
            maxlength="64"
            value=${query.affinity_until ?? ''}
            onInput=${(e) => setQuery({ affinity_until: e.currentTarget.value, affinity_count: null })}
          />`}
      <//>`
    }
    ${query.affinity_until && number('affinity_count', 'Of its occurrences', 1024, 'The first unless said.')}
  </div>`
}

/**
 * @param {string} text
 * @param {number} most
 */
const within = (text, most) => /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= most

/**
 * What a what-if on these statistics is asked for, or why it cannot be: {source, problem}.
 *
 * @param {Given} csv
 * @param {Query} query
 * @returns {{ source: Source | null, problem: string }}
 */
export function sourceOf(csv, query) {
  const said = Object.fromEntries(
    ['instances', ...hashFields, ...affinityFields, ...readingFields]
      .filter((name) => query[name])
      .map((name) => [name, query[name]]),
  )
  const problem =
    csv.text === '' && csv.body === null
      ? 'Give a CSV: paste it, choose a file, or try the sample.'
      : csv.survey === null
        ? 'The CSV is being read.'
        : csv.survey.rows === 0
          ? 'The CSV has no rows yet.'
          : csv.unfit
            ? 'Say which column is what, and use these columns.'
            : !within(query.instances ?? '', 65_536)
              ? 'Say how many instances there are, from 1 to 65,536.'
              : query.hash_function === 'kafka' && !within(query.partitions ?? '', 1_000_000)
                ? 'Say how many partitions the topic has.'
                : ''
  return problem || csv.body === null || csv.survey === null
    ? { source: null, problem }
    : {
        source: { kind: 'csv', body: csv.body, name: csv.name, survey: csv.survey, query: said },
        problem,
      }
}
