package plannertest

import "plannerd/planner/internal/ablation"

// Components are the parts of strategy optimal and of the certificate that [Without]
// leaves out.
func Components() []string {
	names := make([]string, len(ablation.Components))
	for i, c := range ablation.Components {
		names[i] = string(c)
	}
	return names
}

// Without leaves a component out while do runs, in the whole process: plans are then no
// better, and proofs prove no more, but both are true.
func Without(component string, do func()) {
	ablation.Without(ablation.Component(component))
	defer ablation.Without("")
	do()
}
