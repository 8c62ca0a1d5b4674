// Package simulator is a cloud without machines: the driver and the guest of dev
// mode and of tests, so that one state machine serves simulated and real clouds.
//
// A simulated machine is nothing but the history of what was asked of it and
// when. State, addresses and journal are computed from that history and the
// clock, so a restarted process, or a second one, sees the very same machine, and
// nothing has to run in the background.
//
// Unless told otherwise it behaves like the worst of real clouds: it does not
// honor client tokens, it calls a machine running before its guest is up, and
// it hands out another public address at each start.
//
// Faults are asked for by words in the name of a machine ("shop-slow-boot") or in
// the setting "fault" of the account; see Fault.
//
// It keeps its machines in a MachineStore and must not know the database, nor the
// domain.
package simulator
