"""What moderators decide: which submissions the public sees, with a reason that is kept."""
