// What views are written with: Preact by tagged templates.

import { h } from 'preact'
import htm from 'htm'

export { createContext, Fragment, render } from 'preact'
export {
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from 'preact/hooks'

/**
 * What a template takes. Of functions it cannot know what they are called with, as that
 * follows from the attribute that they are for.
 *
 * @typedef {((...args: any[]) => unknown) | object | string | number | bigint | boolean | null | undefined} Value
 */

/** @type {(parts: TemplateStringsArray, ...values: Value[]) => import('preact').VNode} */
export const html = /** @type {any} */ (htm.bind(h))
