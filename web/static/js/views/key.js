// Where a key of an operator goes, who put it there, and what is about to become of it.

import { html } from '../html.js'
import { Route } from './key/route.js'
import { Page } from './operator/page.js'

/** @param {{ operator: string, query: Query }} props */
export default function View({ operator: name, query }) {
  return html`<${Page}
    name=${name}
    tab="key"
    render=${(operator) =>
      html`<${Route} operator=${operator} asked=${query.key ?? ''} encoding=${query.key_encoding ?? ''} />`}
  />`
}
