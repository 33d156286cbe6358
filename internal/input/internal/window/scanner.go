package window

// Scanner reads tokens that lie whole in the window. Its methods, and those of the formats, take
// the index of a token and return the index behind it, or false after Fail. They change nothing
// that matters, so that a token can be read again once the window has moved.
type Scanner struct {
	Window
	at    int    // where the text is wrong; ≥ End when the window ended first
	why   string // what is wrong
	field string // in which field of the row, if known, as a pointer token
}

// Fail says what is wrong with the text, and where. It returns false.
func (s *Scanner) Fail(at int, why string) bool {
	s.at, s.why, s.field = at, why, ""
	return false
}

// FailField is Fail about a field of the row, a token of a pointer.
func (s *Scanner) FailField(at int, field, why string) bool {
	s.at, s.why, s.field = at, why, field
	return false
}

// Failed is why the newest Fail was, where reading on would not help; empty: it was because the text ended.
func (s *Scanner) Failed() string {
	if s.at < s.End || s.EOF {
		return s.why
	}
	return ""
}

// EndOfLine reads the rest of a line, which must be blank, or fails with why.
func (s *Scanner) EndOfLine(i int, why string) (next int, ok bool) {
	b := s.Buf
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\r' {
		i++
	}
	if b[i] == '\n' {
		return i + 1, true
	}
	if i < s.End || !s.EOF {
		return 0, s.Fail(i, why)
	}
	return i, true
}

// Ones and Highs are a word of bytes that are 1, and of bytes of which the highest bit is set.
const (
	Ones  = 0x0101010101010101
	Highs = 0x8080808080808080
)

// ZeroBytes marks the lowest zero byte of x by its high bit; marks above the
// lowest one may be wrong.
func ZeroBytes(x uint64) uint64 { return (x - Ones) &^ x & Highs }
