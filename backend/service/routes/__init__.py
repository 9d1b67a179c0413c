"""The endpoints, one module a noun. Each route is thin: it reads the request, asks the store or the runner, answers."""
