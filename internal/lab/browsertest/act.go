package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// quote writes a string in JavaScript.
func quote(s string) string {
	text, _ := json.Marshal(s) //nolint:errchkjson // no string fails
	return string(text)
}

// shown is a JavaScript expression: the first element that a CSS selector finds
// and that is visible, undefined if there is none.
func shown(selector string) string {
	return "[...document.querySelectorAll(" + quote(selector) +
		")].find(e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0)"
}

// WaitFor waits until an element is visible.
func (p *Page) WaitFor(selector string) {
	p.t.Helper()
	await[bool](p, "wait for "+selector, "return !!"+shown(selector))
}

// WaitGone waits until no such element is visible.
func (p *Page) WaitGone(selector string) {
	p.t.Helper()
	await[bool](p, "wait for the end of "+selector, "return !"+shown(selector))
}

// WaitText waits until the text of a visible element contains something.
func (p *Page) WaitText(selector, text string) {
	p.t.Helper()
	await[bool](p, fmt.Sprintf("wait for %q in %s", text, selector), fmt.Sprintf(
		`return [...document.querySelectorAll(%s)].some(e => e.checkVisibility({visibilityProperty: true}) && e.innerText.includes(%s))`,
		quote(selector), quote(text)))
}

// Text is the text of the first visible element, as it is shown.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return await[struct{ Text string }](p, "text of "+selector, "const e = "+shown(selector)+
		"; return e && {Text: e.innerText.trim()}").Text
}

// Count is the number of elements at this moment, visible or not.
func (p *Page) Count(selector string) int {
	p.t.Helper()
	return Eval[int](p, "document.querySelectorAll("+quote(selector)+").length")
}

// Click clicks with the mouse on the first visible element, once it is enabled,
// nothing covers its centre, and it has been at its place for a tenth of a second:
// what still arrives on the page would move it away from under the pointer.
func (p *Page) Click(selector string) {
	p.t.Helper()
	at := await[struct{ X, Y float64 }](p, "click "+selector, `
		const e = `+shown(selector)+`
		if (!e || e.matches(':disabled')) return null
		e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'})
		const r = e.getClientRects()[0], x = r.x + r.width / 2, y = r.y + r.height / 2
		const hit = document.elementFromPoint(x, y)
		if (!(hit && (e.contains(hit) || hit.contains(e) && hit.matches('label, a, button')))) return null
		const last = window.clicking
		if (last?.e !== e || last.x !== x || last.y !== y) window.clicking = {e, x, y, since: performance.now()}
		return performance.now() - window.clicking.since >= 100 && {X: x, Y: y}`)
	p.do("click "+selector, chromedp.MouseClickXY(at.X, at.Y))
}

// ClickAt clicks with the mouse on a pixel of the window.
func (p *Page) ClickAt(x, y float64) {
	p.t.Helper()
	p.do(fmt.Sprintf("click at %g, %g", x, y), chromedp.MouseClickXY(x, y))
}

// Fill puts a value in the place of what is in a field, as typing does; in a
// select element it chooses the option of that value.
func (p *Page) Fill(selector, value string) {
	p.t.Helper()
	kind := await[string](p, "fill "+selector, `
		const e = `+shown(selector)+`
		if (!e || e.matches(':disabled, :read-only:not(select)')) return null
		e.focus()
		if (e instanceof HTMLSelectElement) {
			if (![...e.options].some(o => o.value === `+quote(value)+`)) return null
			e.value = `+quote(value)+`
			e.dispatchEvent(new Event('input', {bubbles: true}))
			e.dispatchEvent(new Event('change', {bubbles: true}))
			return 'chosen'
		}
		e.select()
		return e.value ? 'full' : 'empty'`)
	switch {
	case kind == "chosen" || kind == "empty" && value == "":
	case value == "":
		p.Press("Backspace")
	default:
		p.do("fill "+selector, insert(value))
	}
}

// Press presses a key where the focus is: what it types, or its name as in
// KeyboardEvent.key, such as Enter, Escape, Tab or ArrowDown, after modifiers as
// in Shift+Tab and Control+k.
func (p *Page) Press(key string) {
	p.t.Helper()
	names := strings.Split(key, "+")
	var held []chromedp.Modifier
	for _, name := range names[:len(names)-1] {
		m, ok := modifiers[name]
		if !ok {
			p.t.Fatalf("press %s: no modifier %s", key, name)
		}
		held = append(held, m)
	}
	r, ok := runeOf(names[len(names)-1])
	if !ok {
		p.t.Fatalf("press %s: there is no such key", key)
	}
	p.do("press "+key, chromedp.KeyEvent(string(r), chromedp.KeyModifiers(held...)))
}

var modifiers = map[string]chromedp.Modifier{
	"Alt": chromedp.ModifierAlt, "Control": chromedp.ModifierCtrl, "Meta": chromedp.ModifierMeta,
	"Shift": chromedp.ModifierShift,
}

// runeOf is the one by which chromedp knows a key.
func runeOf(name string) (rune, bool) {
	if runes := []rune(name); len(runes) == 1 {
		return runes[0], true
	}
	for r, k := range kb.Keys {
		if k.Key == name && k.Code == name { // not those of the number pad
			return r, true
		}
	}
	return 0, false
}

// insert types a text.
func insert(text string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: text})
		return chromedp.Void{}, err
	}
}
