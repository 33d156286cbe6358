package api

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"

	"plannerd/compact"
	"plannerd/internal/statsio"
)

// classMigrations are the moves of a plan of classes, in ascending order of d,
// d_h, v_c, v_S and d′.
type classMigrations []compact.Record

func (m classMigrations) writeJSON(out *bufio.Writer, base64 bool) error {
	return statsio.WriteJSON(out, statsio.ClassMovesOf(m), base64)
}

func (classMigrations) needsBase64() bool { return false }

// decodeClassMoves reads what the store keeps of the moves of a plan of classes.
func decodeClassMoves(id string, blob []byte) ([]compact.Record, error) {
	records, err := statsio.DecodeClassMoves(blob)
	if err != nil {
		return nil, fmt.Errorf("reading the stored migrations of plan %s: %w", id, err)
	}
	return records, nil
}

// movesOnly drops what stays where it is.
func movesOnly(records []compact.Record) []compact.Record {
	return slices.DeleteFunc(records, func(r compact.Record) bool { return r.Planned == r.Current })
}

// classOf is a record as the contract spells it.
func classOf(r compact.Record) []float64 {
	return []float64{float64(r.Current), float64(r.Hash), r.Cost, r.State, float64(r.Count)}
}

// listClassMoves answers with moves of classes.
func listClassMoves(w http.ResponseWriter, c *call, all classMigrations, filter keyFilter) error {
	bad := invalid()
	for _, name := range []string{"key_prefix", "reason", "key_encoding"} {
		if c.query.Has(name) {
			bad.atParameter(name, "is for plans of keys")
		}
	}
	by := c.query.Get("sort")
	if by == "key" {
		bad.atParameter("sort", "by key is for plans of keys")
	}
	if err := bad.orNil(); err != nil {
		return err
	}
	of := func(i int) moveOf { return moveOf{keys: all[i].Count, cost: all[i].Cost, state: all[i].State} }
	return selection[statsio.ClassMove]{
		n: len(all), at: func(i int) statsio.ClassMove { return statsio.ClassMove(all[i]) },
		takes: func(m statsio.ClassMove) bool { return filter.takes(nil, m.Planned, m.Current) },
		order: func(i, j int) int { return of(i).compare(of(j), by) },
	}.answer(w, c, "migrations", keyCoder{})
}
