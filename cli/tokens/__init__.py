"""What commands about tokens ask and print."""
