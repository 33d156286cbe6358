// Package schemes lists the schemes there are, and reads what a plan of an operator starts from
// under its scheme. A new scheme is entered here, and in package operator with its form. The
// package never asks what is planned.
package schemes
