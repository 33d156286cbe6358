package api

import (
	"bufio"
	"fmt"
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
