package planner

// certify proves how good any plan of p can be.
func (p *problem) certify(plan *Plan) {
	if p.o.Certificate == CertificateOff {
		return
	}
	plan.Certificate = &Certificate{}
}
