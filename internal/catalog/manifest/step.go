package manifest

// Step is one thing that is made true in a guest. It has a name and exactly
// one of the four actions. Each action describes a state rather than a change,
// so that a step may be repeated at any time and after any interruption.
type Step struct {
	// Name is shown to people as the operation's step.
	Name string `json:"name"`
	// Packages are Debian packages to be installed, in any version.
	Packages []string `json:"packages,omitempty"`
	// Files are to have exactly the content, owner and mode given here.
	Files []File `json:"files,omitempty"`
	// Units are systemd units to be in the given state. Unit files are read
	// again before.
	Units []Unit `json:"units,omitempty"`
	// Run is for what the other actions cannot say.
	Run *Run `json:"run,omitempty"`
}

// File is a regular file in the guest. It is replaced in one piece, and only
// when something differs, so that its modification time tells of real changes;
// missing folders above it are made.
type File struct {
	// Path is absolute and clean.
	Path string `json:"path"`
	// Owner is a user of the guest; the group is that user's own.
	Owner string `json:"owner"`
	// Mode is four octal digits, such as "0644".
	Mode    string `json:"mode"`
	Content string `json:"content"`
}

// UnitState is the state in which a unit is to be.
type UnitState string

// The states of units.
const (
	UnitRunning UnitState = "RUNNING"
	UnitStopped UnitState = "STOPPED"
)

// Unit is a systemd unit of the guest.
type Unit struct {
	Name  string    `json:"name"`
	State UnitState `json:"state"`
	// Enabled is whether the unit starts at boot.
	Enabled bool `json:"enabled"`
	// RestartIfOlderThan holds paths of files: a running unit that was
	// started before one of them was last written is restarted. Comparing
	// times rather than remembering changes survives an interruption between
	// the write and the restart.
	RestartIfOlderThan []string `json:"restartIfOlderThan,omitempty"`
}

// Run is a script with the question whether it is still needed. Both are fed
// to `sh -eu` as root on its standard input, never put together with other
// text. Script runs only while Check fails, and Check must succeed afterwards:
// that makes a script as repeatable as the other actions.
type Run struct {
	Check  string `json:"check"`
	Script string `json:"script"`
}
