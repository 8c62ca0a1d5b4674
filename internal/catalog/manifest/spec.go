package manifest

// Capability is a machine-readable feature contract: what a machine made of
// some items can safely host.
type Capability string

// The closed set of capabilities.
const (
	// HostedContainerRuntime is a container engine with the Docker API.
	HostedContainerRuntime Capability = "HOSTED_CONTAINER_RUNTIME"
	// ReverseProxyPathRouting routes path prefixes of the default site.
	ReverseProxyPathRouting Capability = "REVERSE_PROXY_PATH_ROUTING"
	// ReverseProxyHostnameRouting routes by host name.
	ReverseProxyHostnameRouting Capability = "REVERSE_PROXY_HOSTNAME_ROUTING"
	// TLSTermination obtains certificates and ends TLS on the machine.
	TLSTermination Capability = "TLS_TERMINATION"
	// ManagedHostedWorkloadDeploy lets the platform deploy workloads; it is
	// worth nothing without HostedContainerRuntime.
	ManagedHostedWorkloadDeploy Capability = "MANAGED_HOSTED_WORKLOAD_DEPLOY"
)

// Capabilities lists every capability, in the order in which they build on
// each other and in which answers name them.
func Capabilities() []Capability {
	return []Capability{
		HostedContainerRuntime, ReverseProxyPathRouting, ReverseProxyHostnameRouting,
		TLSTermination, ManagedHostedWorkloadDeploy,
	}
}

// ProviderKind is a kind of cloud provider that a template has an image for.
type ProviderKind string

// The provider kinds that a template may name.
const (
	ProviderSimulator       ProviderKind = "SIMULATOR"
	ProviderLibvirt         ProviderKind = "LIBVIRT"
	ProviderExistingMachine ProviderKind = "EXISTING_MACHINE"
	ProviderOpenStack       ProviderKind = "OPENSTACK"
	ProviderEC2             ProviderKind = "EC2"
	ProviderDigitalOcean    ProviderKind = "DIGITALOCEAN"
	ProviderHetzner         ProviderKind = "HETZNER"
)

// ProviderKinds lists every provider kind that a template may name.
func ProviderKinds() []ProviderKind {
	return []ProviderKind{
		ProviderSimulator, ProviderLibvirt, ProviderExistingMachine, ProviderOpenStack,
		ProviderEC2, ProviderDigitalOcean, ProviderHetzner,
	}
}

// TemplateSpec is what a VM template is made of.
type TemplateSpec struct {
	// BaseImages names the image to boot in each provider's own words. A
	// provider kind that is absent cannot run the template.
	BaseImages map[ProviderKind]string `json:"baseImages"`
	// Least is the smallest machine on which the template alone works.
	Least LeastResources `json:"least"`
	// DefaultShutdownTimer starts when a provider becomes RUNNING; zero is
	// none.
	DefaultShutdownTimer Duration `json:"defaultShutdownTimer,omitempty"`
	Contribution
}

// AddOnSpec is what an add-on pack is made of.
type AddOnSpec struct {
	// ExtraResources is what the add-on needs on top of everything else;
	// nil is nothing.
	ExtraResources *ExtraResources `json:"extraResources,omitempty"`
	// Requires names what must be there too; nil is nothing.
	Requires *Requires `json:"requires,omitempty"`
	// ConflictsWith holds slugs of templates and add-ons. A conflict counts
	// in both directions, whoever names it.
	ConflictsWith []string `json:"conflictsWith,omitempty"`
	// Fits holds slugs of the templates that the add-on fits; empty is all.
	Fits []string `json:"fits,omitempty"`
	Contribution
}

// Requires names what an add-on cannot do without.
type Requires struct {
	// Capabilities may be given by the template or by any add-on.
	Capabilities []Capability `json:"capabilities,omitempty"`
	// AddOns holds slugs.
	AddOns []string `json:"addOns,omitempty"`
}

// Contribution is what both kinds of item add to a machine.
type Contribution struct {
	// ApplySteps are made true in the guest in this order.
	ApplySteps   []Step       `json:"applySteps,omitempty"`
	Capabilities []Capability `json:"capabilities,omitempty"`
	// ReservedRoutes are path prefixes that no workload may take, as
	// written; see [NormalizeRoute].
	ReservedRoutes []string      `json:"reservedRoutes,omitempty"`
	RuntimePaths   []RuntimePath `json:"runtimePaths,omitempty"`
}

// RuntimePathKind says what a person finds behind a runtime path.
type RuntimePathKind string

// The kinds of runtime paths.
const (
	RuntimeTerminal RuntimePathKind = "TERMINAL"
	RuntimeIDE      RuntimePathKind = "IDE"
	RuntimeApp      RuntimePathKind = "APP"
)

// Protocol is what a runtime path speaks.
type Protocol string

// The protocols of runtime paths. HTTP also carries the WebSockets that its
// pages open; WS is a WebSocket only.
const (
	ProtocolHTTP Protocol = "HTTP"
	ProtocolWS   Protocol = "WS"
)

// RuntimePath is a way into the guest for a browser session.
type RuntimePath struct {
	// Name is unique among the runtime paths of a machine.
	Name string          `json:"name"`
	Kind RuntimePathKind `json:"kind"`
	// Port is a TCP port on the guest's loopback, 1024 to 65535.
	Port     int      `json:"port"`
	Protocol Protocol `json:"protocol"`
	// Path is where the first request goes, from "/".
	Path string `json:"path"`
}
