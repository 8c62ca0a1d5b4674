package simulator

import (
	"strconv"
	"strings"
	"time"

	"biztraak.dev/vm/internal/guest"
)

// heartbeat is the time between two lines of a machine that just runs.
const heartbeat = 5 * time.Second

// script says what a machine writes into its journal in a phase.
type script int

const (
	scriptSilent  script = iota
	scriptBoot           // until the cloud calls it running
	scriptRun            // the end of the boot, then a heartbeat
	scriptHalt           // shutting down
	scriptCrash          // the last words of a boot
	scriptStalled        // a shutdown that did not happen, then a heartbeat
)

// line is one line of a script. Its moment is a share of the phase's span.
type line struct {
	share    float64
	unit     string
	priority guest.Priority
	text     string
}

// lines are the fixed lines of a script, in order.
func (s script) lines() []line {
	switch s {
	case scriptBoot:
		return bootLines()
	case scriptRun:
		return []line{
			{0.10, "ssh.service", guest.PriorityInfo, "accepting connections on port 22"},
			{0.30, "cloud-init.service", guest.PriorityInfo, "user data applied: 1 user, 1 key, journal settings"},
			{0.60, "systemd", guest.PriorityInfo, "target multi-user reached"},
			{0.95, "systemd", guest.PriorityNotice, "{host} is up after {boot}"},
		}
	case scriptHalt:
		return []line{
			{0.00, "systemd-logind.service", guest.PriorityNotice, "asked to shut down"},
			{0.15, "cron.service", guest.PriorityInfo, "stopped"},
			{0.30, "ssh.service", guest.PriorityInfo, "no longer accepting connections"},
			{0.55, "systemd-networkd.service", guest.PriorityInfo, "eth0: released {private}"},
			{0.75, "systemd", guest.PriorityInfo, "file systems unmounted"},
			{0.90, "systemd-journald.service", guest.PriorityInfo, "journal closed"},
		}
	case scriptCrash:
		return []line{
			{0, "kernel", guest.PriorityError, "vda1: the root file system cannot be mounted"},
			{0, "kernel", guest.PriorityCritical, "panic: no init found, halted"},
		}
	case scriptStalled:
		return []line{
			{0, "systemd", guest.PriorityError, "shutdown given up: backup.service does not end"},
			{0, "systemd", guest.PriorityWarning, "back at target multi-user"},
		}
	default:
		return nil
	}
}

func bootLines() []line {
	return []line{
		{0.00, "kernel", guest.PriorityNotice, "simulated kernel 6.1 on {cpus} CPU, {memory} MiB of memory"},
		{0.04, "kernel", guest.PriorityInfo, "command line: root=/dev/vda1 console=ttyS0"},
		{0.10, "kernel", guest.PriorityInfo, "vda: {disk} GiB, one partition"},
		{0.14, "kernel", guest.PriorityInfo, "eth0: virtual network card, link up"},
		{0.20, "kernel", guest.PriorityInfo, "vda1: mounted read-only as root"},
		{0.30, "systemd", guest.PriorityInfo, "running as process 1, host name {host}"},
		{0.36, "systemd-journald.service", guest.PriorityInfo, "journal opened, storage is persistent"},
		{0.42, "systemd-udevd.service", guest.PriorityInfo, "devices settled"},
		{0.48, "systemd-fsck-root.service", guest.PriorityInfo, "vda1: clean"},
		{0.54, "systemd", guest.PriorityInfo, "vda1: mounted read-write as root"},
		{0.62, "systemd-networkd.service", guest.PriorityInfo, "eth0: carrier found"},
		{0.72, "systemd-networkd.service", guest.PriorityInfo, "eth0: leased {private}"},
		{0.80, "systemd-timesyncd.service", guest.PriorityInfo, "clock set from the network"},
		{0.88, "cloud-init.service", guest.PriorityInfo, "image {image}, data source found"},
		{0.95, "cron.service", guest.PriorityInfo, "started"},
	}
}

// line is the index-th line of a phase with its moment; false when the phase has
// no such line. Running machines have one for each heartbeat, without end.
func (p phase) line(index int) (line, time.Time, bool) {
	fixed := p.script.lines()
	if index < len(fixed) {
		l := fixed[index]
		return l, p.from.Add(time.Duration(l.share * float64(p.span))), true
	}
	if p.script != scriptRun && p.script != scriptStalled {
		return line{}, time.Time{}, false
	}
	beat := index - len(fixed)
	// Counted from the end of the boot, so that no heartbeat overtakes it.
	return beatLine(beat), p.from.Add(p.span).Add(time.Duration(beat+1) * heartbeat), true
}

func beatLine(beat int) line {
	switch beat % 4 {
	case 0:
		return line{unit: "metrics.service", priority: guest.PriorityInfo, text: "load {small}, memory {percent} % in use"}
	case 1:
		return line{unit: "systemd-timesyncd.service", priority: guest.PriorityDebug, text: "clock is off by {small} ms"}
	case 2:
		return line{unit: "metrics.service", priority: guest.PriorityInfo, text: "disk {percent} % in use"}
	default:
		return line{unit: "cron.service", priority: guest.PriorityInfo, text: "job housekeeping done in {small} s"}
	}
}

// render fills in what a line says about its machine. Numbers that would be
// measured follow from the line's place, so that they are the same each time.
func (m machine) render(text string, at position) string {
	if !strings.Contains(text, "{") {
		return text
	}
	size := sizeOf(m.Size)
	noise := int(hashOf("noise", m.id, at.String()))
	return strings.NewReplacer(
		"{host}", m.Name,
		"{image}", m.Image,
		"{private}", m.privateIP().String(),
		"{cpus}", strconv.FormatInt(size.CPUMilli/1000, 10),
		"{memory}", strconv.FormatInt(size.MemoryBytes>>20, 10),
		"{disk}", strconv.FormatInt(size.DiskBytes/gibibyte, 10),
		"{boot}", m.History[at.event].Boot.String(),
		"{small}", strconv.FormatFloat(float64(noise%90+5)/100, 'f', 2, 64),
		"{percent}", strconv.Itoa(noise%40+10),
	).Replace(text)
}
