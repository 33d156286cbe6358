package columns

// Source is a body of rows that are read one by one into its builder.
type Source interface {
	// Next reads the next row; false at the end. Its key is valid until the next call.
	Next(r *Row) (bool, error)
	// Allow sets the limit of bytes of what is read from here.
	Allow(bytes int64)
	Gathered() *Builder
	Close()
}

// blockSource is a source some of whose rows can be taken as columns. TakeBlocks takes those
// that come next, as far as they can.
type blockSource interface{ TakeBlocks() error }

// ReadAll reads all rows of a source into its builder.
func ReadAll(s Source) error {
	b, r := s.Gathered(), Row{}
	blocks, _ := s.(blockSource)
	for {
		if blocks != nil {
			if err := blocks.TakeBlocks(); err != nil {
				return err
			}
		}
		ok, err := s.Next(&r)
		if err != nil || !ok {
			return err
		}
		b.CheckInterval(&r)
		if err := b.Add(&r); err != nil {
			return err
		}
	}
}

// ReadEvents hands take each row of a source of events, which are not gathered.
func ReadEvents(s Source, take func(r *Row) error) error {
	const boundless = 1 << 62
	b, r := s.Gathered(), Row{}
	s.Allow(boundless)
	for {
		ok, err := s.Next(&r)
		if err != nil || !ok {
			return err
		}
		if r.Seen&Key == 0 {
			b.lacks(b.Rows, r.Seen)
		}
		if err := b.Invalid(); err != nil {
			return err
		}
		b.Rows++
		if err := take(&r); err != nil {
			return err
		}
	}
}
