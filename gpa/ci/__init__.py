"""What a run says to CI systems: JUnit XML, SARIF, GitHub's and GitLab's own forms, and whether the gate is open."""
