// Package composition resolves a VM template and a set of add-on packs into
// what a machine made of them is: capabilities, reserved routes, runtime
// paths, the ordered apply plan and the least resources, or every reason why
// they do not go together.
//
// It owns the rules of going together and the first-boot configuration of a
// guest ([CloudConfig]). Everything is pure and deterministic: the same
// versions in any order give the same composition, byte for byte as JSON, so
// that a snapshot of what was applied can be compared with what is wanted. It
// must not know stored rows, teams, providers' drivers or how a step is
// carried out.
package composition
