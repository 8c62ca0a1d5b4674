package simulator

import (
	"slices"
	"time"

	"biztraak.dev/vm/internal/provider"
)

// lostAfter is how long a machine with FaultLost runs.
const lostAfter = 5 * time.Second

// stateGone marks the time in which a machine does not exist.
const stateGone provider.State = ""

// phase is a stretch of a machine's life in which its state does not change.
type phase struct {
	// event and part number the phase: the entry of the history that caused it,
	// and which of its consequences it is. Histories only grow, so the numbers of
	// what was seen once never change, and the journal's cursors build on them.
	event, part int
	state       provider.State
	from        time.Time
	to          time.Time // zero while open
	span        time.Duration
	script      script
	fault       *provider.Error
	readyFrom   time.Time // when the guest is up; zero when it is not
	publicLease int       // number of the public address; 0 when there is none
}

func (p phase) covers(t time.Time) bool { return p.to.IsZero() || t.Before(p.to) }

// timeline is a machine's life in order, without holes. The last phase is open.
type timeline []phase

// at returns the phase at an instant. A clock that is behind the one that wrote
// the history sees the machine at its beginning.
func (t timeline) at(now time.Time) phase {
	for _, p := range t {
		if p.covers(now) {
			return p
		}
	}
	return t[len(t)-1]
}

// cut ends the timeline at an instant: what has not begun by then never happens.
func (t timeline) cut(at time.Time) timeline {
	t = slices.DeleteFunc(t, func(p phase) bool { return !p.from.Before(at) })
	if len(t) > 0 {
		if last := &t[len(t)-1]; last.covers(at) {
			last.to = at
		}
	}
	return t
}

// lasting adds a phase of a known length, open one that lasts until something
// happens. Both begin where the timeline ends, the first one at the instant from.
func (t timeline) lasting(p phase, from time.Time, d time.Duration) timeline {
	t = t.open(p, from)
	last := &t[len(t)-1]
	last.to = last.from.Add(d)
	return t
}

func (t timeline) open(p phase, from time.Time) timeline {
	p.from = from
	if len(t) > 0 {
		p.from = t[len(t)-1].to
	}
	return append(t, p)
}

// timeline replays the history.
func (d document) timeline() timeline {
	var line timeline
	lease := 0
	for _, e := range d.withVanishing() {
		line = line.cut(e.event.At)
		switch e.event.Action {
		case actionCreate, actionStart, actionPowerOn:
			lease++
			line = d.boot(line, e, lease)
		case actionRestart:
			line = line.lasting(phase{event: e.index, state: provider.StateRestarting, span: e.event.Halt, script: scriptHalt}, e.event.At, e.event.Halt)
			line = d.boot(line, numbered{index: e.index, part: 1, event: e.event}, lease)
		case actionStop:
			line = d.halt(line, e, lease)
		case actionPowerOff, actionRestore:
			line = line.open(phase{event: e.index, state: provider.StateStopped}, e.event.At)
		case actionDestroy:
			line = line.lasting(phase{event: e.index, state: provider.StateDeleting, span: e.event.Halt, script: scriptHalt}, e.event.At, e.event.Halt)
			line = line.open(phase{event: e.index, part: 1, state: stateGone}, e.event.At)
		case actionRemove, actionVanish:
			line = line.open(phase{event: e.index, state: stateGone}, e.event.At)
		}
	}
	return line
}

// numbered is an event with its place in the history, and the number that the
// first phase made from it gets.
type numbered struct {
	index, part int
	event       event
}

// withVanishing numbers the history and puts the end of a machine with FaultLost
// at its place in it. That phase has no journal, so its number does not matter.
func (d document) withVanishing() []numbered {
	events := make([]numbered, len(d.History), len(d.History)+1)
	for i, e := range d.History {
		events[i] = numbered{index: i, event: e}
	}
	if !d.has(FaultLost) {
		return events
	}
	created := d.History[0]
	at := created.At.Add(cloudBoot(created.Boot) + lostAfter)
	place := len(events)
	for i, e := range d.History {
		if !e.At.Before(at) {
			place = i
			break
		}
	}
	return slices.Insert(events, place, numbered{index: place - 1, event: event{Action: actionVanish, At: at}})
}

// cloudBoot is the part of a boot after which the cloud calls the machine
// running; the guest needs the rest.
func cloudBoot(boot time.Duration) time.Duration { return boot / 5 * 4 }

// risingState is what a machine that boots is called, after what made it boot.
func risingState(a action) provider.State {
	switch a {
	case actionCreate:
		return provider.StateCreating
	case actionRestart:
		return provider.StateRestarting
	default:
		return provider.StateStarting
	}
}

func (d document) boot(line timeline, e numbered, lease int) timeline {
	span := cloudBoot(e.event.Boot)
	rising := phase{event: e.index, part: e.part, state: risingState(e.event.Action), span: span, script: scriptBoot}
	after := phase{event: e.index, part: e.part + 1}
	switch {
	case d.has(FaultBootCrash):
		after.state, after.script = provider.StateError, scriptCrash
		after.fault = &provider.Error{Class: provider.ClassBug, Code: "BOOT_FAILED", Message: "the machine crashed while it booted"}
		return line.lasting(rising, e.event.At, span/2).open(after, e.event.At)
	case d.has(FaultStartFails) && e.event.Action == actionStart:
		after.state = provider.StateStopped
		after.fault = &provider.Error{Class: provider.ClassBug, Code: "START_FAILED", Message: "the cloud could not start the machine"}
		return line.lasting(rising, e.event.At, span/2).open(after, e.event.At)
	}
	line = line.lasting(rising, e.event.At, span)
	after.state, after.script, after.publicLease = provider.StateRunning, scriptRun, lease
	after.span = e.event.Boot - span
	after.readyFrom = line[len(line)-1].to.Add(after.span)
	return line.open(after, e.event.At)
}

func (d document) halt(line timeline, e numbered, lease int) timeline {
	line = line.lasting(phase{event: e.index, state: provider.StateStopping, span: e.event.Halt, script: scriptHalt}, e.event.At, e.event.Halt)
	after := phase{event: e.index, part: 1, state: provider.StateStopped}
	if d.has(FaultStopFails) {
		after.state, after.script, after.publicLease = provider.StateRunning, scriptStalled, lease
		after.readyFrom = line[len(line)-1].to
		after.fault = &provider.Error{Class: provider.ClassBug, Code: "STOP_FAILED", Message: "the machine did not shut down"}
	}
	return line.open(after, e.event.At)
}
