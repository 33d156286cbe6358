package api

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"plannerd/internal/httpkit"
)

// members are the parts of a request beside its rows: members of a JSON body,
// or query parameters.
type members struct {
	schema *openapi3.Schema // of the JSON body
	raw    map[string][]byte
	query  map[string][]string // nil for a JSON body
	bad    *httpkit.Problem    // what was found wrong so far
	// records: the rows are compact records.
	records bool
}

// refuseUnknown refuses members of a JSON body that the contract does not know.
func (m *members) refuseUnknown() {
	for name := range m.raw {
		if m.schema.Properties[name] == nil {
			m.bad.At("/"+escapePointer(name), unknownField(name, m.schema))
		}
	}
}

// refuse adds a problem with one member.
func (m *members) refuse(name, detail string) {
	if m.query != nil {
		m.bad.AtParameter(name, detail)
		return
	}
	m.bad.At("/"+name, detail)
}

// add merges the problems of err, if it is one.
func (m *members) add(err error) {
	var p *httpkit.Problem
	switch {
	case err == nil:
	case errors.As(err, &p) && p.Status == m.bad.Status:
		m.bad.Errors = append(m.bad.Errors, p.Errors...)
	default:
		m.refuse("", "cannot be read")
	}
}

// problem returns everything that was found wrong.
func (m *members) problem() error { return m.bad.OrNil() }

// has reports whether the request has the member.
func (m *members) has(name string) bool {
	if m.query != nil {
		return len(m.query[name]) > 0
	}
	_, ok := m.raw[name]
	return ok
}

// member reads one small member, or returns nil where there is none.
func member[T any](m *members, name string) *T {
	schema := m.schema.Properties[name]
	if !m.has(name) || schema == nil {
		return nil
	}
	out := new(T)
	if m.query != nil {
		if !parseScalar(m.query[name][0], out) {
			m.refuse(name, outOfRange)
			return nil
		}
		return out
	}
	raw := m.raw[name]
	if len(raw) > maxSmallBody {
		m.refuse(name, "is longer than "+strconv.Itoa(maxSmallBody)+" bytes")
		return nil
	}
	if err := decodeStrict(raw, out, "/"+name, schema.Value); err != nil {
		m.add(err)
		return nil
	}
	return out
}

// parseScalar reads a query parameter that is within the contract.
func parseScalar(text string, into any) bool {
	var err error
	switch v := into.(type) {
	case *string:
		*v = text
	case *int64:
		*v, err = strconv.ParseInt(text, 10, 64)
	case *int32:
		var n int64
		n, err = strconv.ParseInt(text, 10, 32)
		*v = int32(n)
	case *bool:
		*v, err = strconv.ParseBool(text)
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
		return err == nil && !math.IsNaN(*v) && !math.IsInf(*v, 0)
	default:
		return false
	}
	return err == nil
}

// list reads a comma-separated query parameter.
func list[T any](m *members, name string) []T {
	if len(m.query[name]) == 0 {
		return nil
	}
	var out []T
	for part := range strings.SplitSeq(m.query[name][0], ",") {
		var v T
		if !parseScalar(part, &v) {
			m.refuse(name, outOfRange)
			return nil
		}
		out = append(out, v)
	}
	return out
}
