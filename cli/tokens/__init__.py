<<<<<<< HEAD
"""What commands about tokens ask and print."""
=======
"""What `tokens show` says."""
>>>>>>> tokens
