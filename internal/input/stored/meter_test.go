package stored

import (
	"bytes"
	"runtime"
	"sync/atomic"
	"testing"

	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/internal/inputtest"
)

// TestEncodeInputStops: it asks for each block of rows.
func TestEncodeInputStops(t *testing.T) {
	s := inputtest.StatisticsOf(inputtest.ZipfRows(8 * blob.BlockRows))
	var asked atomic.Int64
	never := func() bool {
		asked.Add(1)
		return false
	}
	if !bytes.Equal(EncodeInputUntil(s, nil, never), encodeInput(s)) || asked.Load() != 8 {
		t.Errorf("asked %d times", asked.Load())
	}
	asked.Store(0)
	most := 2 + int64(runtime.GOMAXPROCS(0)) // others may ask at the same time
	if blob := EncodeInputUntil(s, nil, func() bool { return asked.Add(1) == 2 }); blob != nil || asked.Load() > most {
		t.Errorf("%d bytes, asked %d times", len(blob), asked.Load())
	}
}
