package planning

import "context"

// ChooseDue chooses the policies that are due, as Run does when it comes to it.
func (s *Service) ChooseDue(ctx context.Context) error {
	for {
		select {
		case name := <-s.chooser.due:
			p, choice, err := s.chooseOne(ctx, name)
			if err != nil {
				return err
			}
			s.chooser.chose(name, p, choice)
		default:
			return nil
		}
	}
}
