// Package team owns tenants and what belongs to them as such: users, teams,
// memberships, access tokens, cloud accounts, and the trail of who changed them.
//
// Credentials of clouds are checked with the cloud when an account is connected,
// sealed, and opened only for code that acts for the platform (DriverAccount);
// nothing that people can read holds them. The package knows the interface of
// cloud drivers, never a certain one, and nothing of projects or GraphQL.
package team
