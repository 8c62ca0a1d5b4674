package auth

// Role is what a member may do in a team; each may do all that the ones before
// it may.
type Role string

// The roles, lowest first.
const (
	Viewer Role = "VIEWER"
	Member Role = "MEMBER"
	Admin  Role = "ADMIN"
	Owner  Role = "OWNER"
)

var rank = map[Role]int{Viewer: 1, Member: 2, Admin: 3, Owner: 4}

// AtLeast says whether r may do what need may. An unknown role may nothing.
func (r Role) AtLeast(need Role) bool { return rank[r] > 0 && rank[r] >= rank[need] }

// Lower is the lower of two roles.
func Lower(a, b Role) Role {
	if rank[a] < rank[b] {
		return a
	}
	return b
}

// Verb is something that can be done to an object of a team.
type Verb string

// The verbs, one for each right that is granted on its own.
const (
	Read           Verb = "read"
	EditProject    Verb = "make and rename projects"
	DeleteProject  Verb = "delete projects"
	EditVM         Verb = "make and change virtual machines"
	RunVM          Verb = "run virtual machines"
	SteerOperation Verb = "cancel and retry operations"
	ConnectAccount Verb = "connect cloud accounts"
	ManageMembers  Verb = "manage members"
	ManageOwners   Verb = "manage owners"
)

// policy is the whole of it: the least role for each verb.
var policy = map[Verb]Role{
	Read:           Viewer,
	EditProject:    Member,
	DeleteProject:  Admin,
	EditVM:         Member,
	RunVM:          Member,
	SteerOperation: Member,
	ConnectAccount: Admin,
	ManageMembers:  Admin,
	ManageOwners:   Owner,
}

// Needs is the least role for the verb.
func Needs(v Verb) Role { return policy[v] }

// May says whether the role is enough for the verb. An unknown verb is refused.
func May(r Role, v Verb) bool {
	need, known := policy[v]
	return known && r.AtLeast(need)
}
