// The frame of the dashboard: where it is, what is shown there, and who is asking.

import { Problem, request, session, signIn, signOut, signedIn, useResource, useSession } from './api.js'
import { html, render, useEffect, useErrorBoundary, useRef, useState } from './html.js'
import { announce, Announcements, check, choose, Dialog, Empty, Loading, Trouble } from './parts.js'
import { useRoute } from './route.js'
import { setStateUnit, useStateUnit } from './format.js'
import { learn } from './strategies.js'
import { setTheme, theme } from './theme.js'

/** What is shown where; the names of groups are those of the view's properties. */
/** @type {[RegExp, () => Promise<{ default: unknown }>][]} */
const views = [
  [/^\/$/, () => import('./views/operators.js')],
  [/^\/operators\/(?<operator>[^/]*)$/, () => import('./views/operator.js')],
  [/^\/operators\/(?<operator>[^/]*)\/key$/, () => import('./views/key.js')],
  [/^\/operators\/(?<operator>[^/]*)\/backtest$/, () => import('./views/backtest.js')],
  [/^\/operators\/(?<operator>[^/]*)\/configuration$/, () => import('./views/configuration.js')],
  [/^\/plans\/(?<plan>[^/]*)$/, () => import('./views/plan.js')],
  [/^\/what-if$/, () => import('./views/whatif.js')],
  [/^\/analyses(\/(?<analysis>[^/]*))?$/, () => import('./views/analyses.js')],
]

/** @param {string} path */
function find(path) {
  const view = views.find(([pattern]) => pattern.test(path))
  return view && { load: view[1], params: view[0].exec(path)?.groups }
}

/** @type {[href: string, text: string, here: RegExp][]} */
const sections = [
  ['#/', 'Operators', /^\/$|^\/operators|^\/plans/],
  ['#/what-if', 'What if', /^\/what-if/],
  ['#/analyses', 'Analyses', /^\/analyses/],
]

/** @typedef {{ load: () => Promise<{ default: unknown }>, View?: any, error?: unknown }} Loaded */

function Frame() {
  const route = useRoute()
  const { asks, offline, visit } = useSession()
  const [view, setView] = useState(/** @type {Loaded | null} */ (null))
  const main = useRef(/** @type {HTMLElement | null} */ (null))
  const found = find(route.path)
  const load = found?.load ?? null
  // It is asked for while the view is loaded, and without it names are as the API has them.
  /** @type {Watched<API['StrategyList']>} */
  const offer = useResource(asks ? null : 'v1/strategies')
  if (offer.data) learn(offer.data)

  useEffect(() => {
    let left = false
    load?.().then(
      (module) => !left && setView({ load, View: module.default }),
      (error) => !left && setView({ load, error }),
    )
    return () => {
      left = true
    }
  }, [load])

  // A new page begins at its top, and is read from there; so is one that somebody else sees.
  const shown = useRef(`${visit} ${route.path}`)
  useEffect(() => {
    if (shown.current === `${visit} ${route.path}`) return
    shown.current = `${visit} ${route.path}`
    scrollTo(0, 0)
    main.current?.focus({ preventScroll: true })
  }, [visit, route.path])

  return html`
    <a
      class="skip"
      href="#main"
      onClick=${(e) => {
        e.preventDefault()
        main.current?.focus()
      }}
    >
      Skip to content
    </a>
    <header class="top row">
      <a class="brand" href="#/"><img src="dashboard/icon.svg" alt="" width="24" height="24" />plannerd</a>
      <nav aria-label="Main">
        <ul>
          ${sections.map(
            ([href, text, here]) =>
              html`<li key=${href}>
                <a href=${href} aria-current=${here.test(route.path) ? 'page' : undefined}>${text}</a>
              </li>`,
          )}
          <li><a href="docs">Docs</a></li>
        </ul>
      </nav>
      <${Preferences} />
    </header>
    ${
      offline &&
      html`<p class="offline" role="alert">
        The server does not answer. What is shown may be old; the page tries again by itself.
      </p>`
    }
    <main id="main" ref=${main} tabindex="-1" key=${visit}>
      ${
        !found
          ? html`<${Empty} title="There is no such page"><p><a href="#/">All operators</a></p><//>`
          : view?.load !== load || offer.loading
            ? html`<${Loading} />`
            : view.error
              ? html`<${Trouble}
                  problem=${new Problem({ title: 'A part of the page could not be loaded' })}
                  retry=${() => location.reload()}
                />`
              : html`<${Guarded} View=${view.View} ...${found.params} query=${route.query} key=${route.path} />`
      }
    </main>
    <${Announcements} />
    ${asks && html`<${TokenPrompt} />`}
  `
}

/**
 * A view, or that it failed: the rest of the page stays.
 *
 * @param {{ View: any, [name: string]: any }} props
 */
function Guarded({ View, ...props }) {
  const [error, again] = useErrorBoundary((thrown) => console.error(thrown))
  if (!error) return html`<${View} ...${props} />`
  return html`<div role="alert">
    <${Empty} title="This page cannot be shown">
      <p>That is a fault of the dashboard. <a href="docs/api">The API</a> has all that it shows.</p>
      <p><button type="button" onClick=${again}>Try again</button></p>
    <//>
  </div>`
}

const unitWords = Object.entries({ units: 'State in units', bytes: 'State in bytes' })
const themeWords = Object.entries({ system: 'System', light: 'Light', dark: 'Dark' })

/** How things are shown, and who asks. */
function Preferences() {
  const unit = useStateUnit()
  const [chosen, setChosen] = useState(theme())
  const { asks } = useSession()
  /** @type {Watched<API['Caller']>} */
  const caller = useResource(asks ? null : 'v1/caller')
  return html`<div class="row preferences">
    ${
      caller.data?.access &&
      html`<span class="caller" title="Role: ${caller.data.role}">
        ${caller.data.name} <span class="muted">${caller.data.role}</span>
      </span>`
    }
    ${signedIn() && html`<button type="button" class="quiet" onClick=${signOut}>Sign out</button>`}
    ${choose('Unit of state', unit, unitWords, setStateUnit, { hidden: true })}
    ${choose(
      'Colours',
      chosen,
      themeWords,
      (value) => {
        setTheme(value)
        setChosen(theme())
      },
      { hidden: true },
    )}
  </div>`
}

/** Asks for a token and tries it before it is taken. */
function TokenPrompt() {
  const [open, setOpen] = useState(true)
  const [secret, setSecret] = useState('')
  const [remember, setRemember] = useState(false)
  const [said, say] = useState(
    session.refused ? 'The token is no longer valid, or never was. Sign in with another one.' : '',
  )
  const [busy, setBusy] = useState(false)
  if (!open)
    return html`<p class="signin-bar" role="status">
      This server asks for a token. <button type="button" onClick=${() => setOpen(true)}>Sign in</button>
    </p>`
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault()
    if (/[^ -~]/.test(secret.trim()))
      return say('Tokens have no such characters: letters, digits and signs of ASCII only.')
    setBusy(true)
    try {
      await request('GET', 'v1/caller', { headers: { Authorization: `Bearer ${secret.trim()}` } })
      signIn(secret.trim(), remember)
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem
      say(problem.status === 401 ? 'The server does not know this token.' : problem.message)
      setBusy(false)
    }
  }
  return html`<${Dialog} title="Sign in" onClose=${() => setOpen(false)}>
    <form onSubmit=${submit} class="form">
      <p>This server asks for a token. Whoever runs it makes one with <code>plannerd token new</code>.</p>
      <div class="field">
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          required
          value=${secret}
          onInput=${(e) => setSecret(e.currentTarget.value)}
          aria-describedby="token-said"
        />
      </div>
      ${check(remember, setRemember, 'Keep it in this browser, not only in this tab')}
      <p id="token-said" role="alert" class="form-said toned bad">${said}</p>
      <footer class="row form-foot"><button type="submit" class="primary" disabled=${busy}>Sign in</button></footer>
    </form>
  <//>`
}

// Where no pointer can rest on a thing, a touch tells what its title says.
addEventListener('click', (event) => {
  const { pointerType, target } = /** @type {PointerEvent & { target: Element }} */ (event)
  const title = pointerType === 'touch' && !target.closest('a') && target.closest('[title]')?.getAttribute('title')
  if (title) announce(title)
})

render(html`<${Frame} />`, document.getElementById('app') ?? document.body)
